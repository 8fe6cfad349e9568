import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntPredicate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Kafka's PartitionChangeBuilder, PartitionReassignmentReplicas and ReplicationControlManager#alterPartition and #handleAssignReplicasToDirs by
 * lines of JSON: one array of calls in, one array of records and errors out.
 *
 * What a call does not name, the builder is not told. A record has the fields that it names; a call without a record answers null.
 */
public final class PartitionChanges {
    private static final String CONTROLLER = "org.apache.kafka.controller.";
    private static final Class<?> BUILDER = Reflect.type(CONTROLLER + "PartitionChangeBuilder");
    private static final Class<?> REPLICAS = Reflect.type(CONTROLLER + "PartitionReassignmentReplicas");
    private static final Class<?> REVERT = Reflect.type(CONTROLLER + "PartitionReassignmentRevert");
    private static final Class<?> VERSION = Reflect.type("org.apache.kafka.server.common.MetadataVersion");
    private static final Class<?> REGISTRATION = Reflect.type("org.apache.kafka.metadata.PartitionRegistration");
    private static final Constructor<?> REGISTERED = ofRecord();
    private static final Constructor<?> BUILT = Reflect.longest(BUILDER);
    private static final boolean WITH_VERSION = Arrays.asList(Reflect.types(BUILT)).contains(VERSION);
    private static final int UNCHANGED = -2;
    private static final Uuid DELETED = new Uuid(8_000, 1), LOST = new Uuid(9_000, 1), UNASSIGNED = new Uuid(0, 1);
    private static final Managers MANAGERS = new Managers(new Clock(), false, 1);
    private static Managers withElr;

    private PartitionChanges() { }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> PartitionChanges::answer);
    }

    private static Object answer(JsonNode call) {
        switch (call.get("do").asText()) {
            case "change":
                return change(registration(call.get("partition")), new HashSet<>(Harness.ids(call.get("active"))), call);
            case "begin":
                return begun(call);
            case "cancel":
                return cancelled(call);
            case "ask":
                return asked(call);
            case "assign":
                return moved(call);
            default:
                throw new IllegalArgumentException("no call " + call);
        }
    }

    private static Constructor<?> ofRecord() {
        return Reflect.constructor(REGISTRATION, Reflect.type("org.apache.kafka.common.metadata.PartitionRecord"));
    }

    private static Object registration(JsonNode partition) {
        Object record = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.common.metadata.PartitionRecord")));
        Reflect.call(record, "setReplicas", Harness.ids(partition.get("replicas")));
        Reflect.call(record, "setIsr", Harness.ids(partition.get("isr")));
        Reflect.call(record, "setRemovingReplicas", Harness.ids(partition.get("removing")));
        Reflect.call(record, "setAddingReplicas", Harness.ids(partition.get("adding")));
        Reflect.call(record, "setLeader", partition.get("leader").asInt());
        Reflect.call(record, "setLeaderRecoveryState", recovery(partition));
        if (Reflect.has(record.getClass(), "setEligibleLeaderReplicas")) {
            Reflect.call(record, "setEligibleLeaderReplicas", Harness.ids(partition.get("elr")));
            Reflect.call(record, Reflect.has(record.getClass(), "setLastKnownElr") ? "setLastKnownElr" : "setLastKnownELR", Harness.ids(partition.get("last_known_elr")));
        }
        return Reflect.make(REGISTERED, record);
    }

    /** What PartitionChangeBuilder records of a wish. */
    static Object change(Object partition, Set<Integer> active, JsonNode call) {
        boolean elr = call.get("with_elr").asBoolean();
        boolean[] idGiven = {false};
        Object builder = Reflect.make(BUILT, Reflect.supply(Reflect.types(BUILT), type -> {
            if (type == int.class) {
                boolean minIsr = idGiven[0];
                idGiven[0] = true;
                return minIsr ? call.get("min_isr").asInt() : (Object) 0;
            }
            if (type == boolean.class)  // until 3.5 it says that leaders can recover
                return WITH_VERSION ? elr : call.get("recovery").asBoolean();
            return type == REGISTRATION ? partition : type == Uuid.class ? Broker.TOPIC_ID
                : type == IntPredicate.class ? (IntPredicate) active::contains : version(call.get("version").asText());
        }));
        give(builder, "setTargetIsr", call, "isr");
        give(builder, "setTargetReplicas", call, "replicas");
        give(builder, "setTargetRemoving", call, "removing");
        give(builder, "setTargetAdding", call, "adding");
        Reflect.call(builder, "setElection", Reflect.enumOf(Reflect.type(CONTROLLER + "PartitionChangeBuilder$Election"), call.get("election").asText()));
        if (call.has("recovering"))
            Reflect.call(builder, "setTargetLeaderRecoveryState", Reflect.enumOf(
                Reflect.type("org.apache.kafka.metadata.LeaderRecoveryState"), call.get("recovering").asBoolean() ? "RECOVERING" : "RECOVERED"));
        if (Reflect.has(BUILDER, "setEligibleLeaderReplicasEnabled"))
            Reflect.call(builder, "setEligibleLeaderReplicasEnabled", elr);
        if (Reflect.has(BUILDER, "setUseLastKnownLeaderInBalancedRecovery"))
            Reflect.call(builder, "setUseLastKnownLeaderInBalancedRecovery", call.get("last_known_leader").asBoolean());
        if (Reflect.has(BUILDER, "setUncleanShutdownReplicas"))
            Reflect.call(builder, "setUncleanShutdownReplicas", Harness.ids(call.get("shut_down_uncleanly")));
        Object built = Scala.unwrap(Reflect.call(builder, "build"));
        return built == null ? null : named(((ApiMessageAndVersion) built).message());
    }

    private static void give(Object builder, String setter, JsonNode call, String key) {
        if (call.has(key))
            Reflect.call(builder, setter, Harness.ids(call.get(key)));
    }

    private static Object version(String name) {
        Method named = Reflect.byName(VERSION, "fromVersionString");
        return Reflect.invoke(null, named, Reflect.supply(Reflect.types(named), type -> type == String.class ? name : (Object) false));
    }

    private static Map<String, Object> named(Object record) {
        Map<String, Object> named = new LinkedHashMap<>();
        int leader = (Integer) Reflect.call(record, "leader");
        if (leader != UNCHANGED)
            named.put("leader", leader);
        put(named, record, "isr", "isr");
        put(named, record, "replicas", "replicas");
        put(named, record, "removing", "removingReplicas");
        put(named, record, "adding", "addingReplicas");
        if (Reflect.has(record.getClass(), "eligibleLeaderReplicas")) {
            put(named, record, "elr", "eligibleLeaderReplicas");
            put(named, record, "last_known_elr", Reflect.has(record.getClass(), "lastKnownElr") ? "lastKnownElr" : "lastKnownELR");
        }
        byte recovery = (Byte) Reflect.call(record, "leaderRecoveryState");
        if (recovery >= 0)
            named.put("recovering", recovery == 1);
        return named;
    }

    private static void put(Map<String, Object> named, Object record, String key, String getter) {
        Object value = Reflect.call(record, getter);
        if (value != null)
            named.put(key, value);
    }

    private static Object begun(JsonNode call) {
        Class<?> assignment = Reflect.type("org.apache.kafka.metadata.placement.PartitionAssignment");
        Constructor<?> pair = Reflect.constructor(REPLICAS, assignment, assignment);
        Object made = Reflect.make(pair, assigned(assignment, call.get("current")), assigned(assignment, call.get("target")));
        return Map.of("removing", Reflect.call(made, "removing"), "adding", Reflect.call(made, "adding"), "replicas", Reflect.call(made, "replicas"));
    }

    private static Object assigned(Class<?> assignment, JsonNode replicas) {
        Constructor<?> longest = Reflect.longest(assignment);
        return Reflect.make(longest, Reflect.supply(Reflect.types(longest), type ->
            type == List.class ? Harness.ids(replicas) : Reflect.proxy(type, (name, arguments) -> Uuid.ZERO_UUID)));
    }

    private static Object cancelled(JsonNode call) {
        Object made = Reflect.make(Reflect.constructor(REVERT, REGISTRATION), registration(call.get("partition")));
        return Map.of("replicas", Reflect.call(made, "replicas"), "isr", Reflect.call(made, "isr"), "unclean", Reflect.call(made, "unclean"));
    }

    /** What a controller answers to a leader, and the record that this leads to. */
    private static Object asked(JsonNode call) {
        JsonNode partition = call.get("partition"), epochs = call.get("broker_epochs"), lost = call.get("directory_failed");
        for (int broker = 0; broker < epochs.size(); broker++)
            MANAGERS.registered(broker, epochs.get(broker).asLong(), call.get("fenced").get(broker).asBoolean());
        List<Uuid> directories = new ArrayList<>();
        for (int replica : Harness.ids(partition.get("replicas")))
            directories.add(lost.get(replica).asBoolean() ? LOST : Managers.directories(replica).get(0));
        MANAGERS.create(recorded(partition, directories));
        MANAGERS.allowUncleanElections(call.get("unclean").asBoolean());
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        for (JsonNode member : call.get("isr"))
            isr.add(new AlterPartitionRequestData.BrokerState().setBrokerId(member.get(0).asInt()).setBrokerEpoch(member.get(1).asLong()));
        int leader = call.get("leader").asInt();
        Uuid topic = call.get("knows_topic").asBoolean() ? Broker.TOPIC_ID : DELETED;
        Object error = MANAGERS.alterPartition(topic, leader, epochs.get(leader).asLong(), new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
            .setLeaderEpoch(call.get("leader_epoch").asInt()).setPartitionEpoch(call.get("partition_epoch").asInt())
            .setLeaderRecoveryState(recovery(call)).setNewIsrWithEpochs(isr)).get("error");
        Map<String, Object> answer = new LinkedHashMap<>(Map.of("error", error));
        for (ApiMessageAndVersion each : MANAGERS.altered())
            answer.put("record", named(each.message()));
        return answer;
    }

    /** What a controller records when a broker says in which log directory it has its replica. */
    private static Object moved(JsonNode call) {
        JsonNode partition = call.get("partition");
        boolean elr = call.get("with_elr").asBoolean();
        if (elr && withElr == null)
            withElr = new Managers(new Clock(), true, 1);
        Managers managers = elr ? withElr : MANAGERS;
        int mover = call.get("broker").asInt();
        List<Integer> active = Harness.ids(call.get("active"));
        for (int broker = 0; broker < call.get("brokers").asInt(); broker++)
            managers.registered(broker, 10, !active.contains(broker));
        List<Uuid> directories = new ArrayList<>();
        for (int replica : Harness.ids(partition.get("replicas")))
            directories.add(replica == mover ? UNASSIGNED : Managers.directories(replica).get(0));
        managers.create(recorded(partition, directories));
        managers.requireInSync(call.get("min_isr").asInt());
        List<ApiMessageAndVersion> records = managers.assign(mover, Managers.directories(mover).get(0));
        return records.size() == 1 ? named(records.get(0).message()) : records.size();
    }

    /** The fields of a record that creates a partition. */
    private static Map<String, Object> recorded(JsonNode partition, List<Uuid> directories) {
        Map<String, Object> fields = new HashMap<>(Map.of("setReplicas", Harness.ids(partition.get("replicas")), "setIsr", Harness.ids(partition.get("isr")),
            "setDirectories", directories, "setRemovingReplicas", Harness.ids(partition.get("removing")),
            "setAddingReplicas", Harness.ids(partition.get("adding")), "setLeaderRecoveryState", recovery(partition),
            "setLeader", partition.get("leader").asInt(), "setLeaderEpoch", partition.get("leader_epoch").asInt(),
            "setPartitionEpoch", partition.get("partition_epoch").asInt(), "setEligibleLeaderReplicas", Harness.ids(partition.get("elr"))));
        for (String spelt : new String[] {"setLastKnownElr", "setLastKnownELR"})
            fields.put(spelt, Harness.ids(partition.get("last_known_elr")));
        return fields;
    }

    private static byte recovery(JsonNode of) {
        return (byte) (of.get("recovering").asBoolean() ? 1 : 0);
    }
}
