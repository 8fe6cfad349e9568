import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * The controller with KRaft: Kafka's ReplicationControlManager and ClusterControlManager. What they record is replayed at once, as on a
 * quorum that never fails.
 *
 * Kafka elects the first suitable replica in the order of the assignment. So a step that names a successor puts it first; if Kafka elects
 * another one, or none, nothing is replayed, and the step fails.
 */
final class Controller {
    private static final int NO_LEADER = -1;
    private static final int NO_CHANGE = -2;
    private static final byte PREFERRED = 0;
    private static final byte UNCLEAN = 1;

    /** That of sessions: brokers have another one, which stands still where a claim is about the time that followers lag. */
    private final Clock clock = new Clock();
    private Managers managers;
    private List<Object> settings;

    /** What the controller would record of these is looked at after each step. */
    private JsonNode wishes;

    /** The election that a call has recorded beyond the model's step; null if there was no such call. */
    private List<ApiMessageAndVersion> withheld;

    /** The answer to an AlterPartition request, if that was the last step. */
    private Map<String, Object> answer;

    /** What came of another incarnation that asked to register, if that was in the last step. */
    private Map<String, Object> again;

    /** Begin with brokers that have registered, and a new partition. Managers are made anew only for other settings. */
    private void begin(JsonNode o) {
        List<Object> wanted = List.of(o.get("elr").asBoolean(), o.get("min_insync_replicas").asInt(), o.get("registrations").size());
        if (!wanted.equals(settings)) {
            managers = new Managers(clock, o.get("elr").asBoolean(), o.get("min_insync_replicas").asInt());
            settings = wanted;
        }
        wishes = o.path("wishes");
        for (JsonNode each : o.get("registrations"))
            managers.registered(each.get(0).asInt(), each.get(1).asLong(), each.get(2).asBoolean());
        managers.create(o.get("leader").asInt(), ints(o.get("isr")), ints(o.get("replicas")));
    }

    Object apply(String name, JsonNode o, List<Broker> brokers) {
        List<ApiMessageAndVersion> due = withheld;
        withheld = null;
        answer = null;
        again = null;
        int broker = o.path("broker").asInt();
        switch (name) {
            case "begin":
                begin(o);
                return null;
            case "fence":
                registerInVain(broker, o.get("leaves").asBoolean());
                return elects(o, records -> Reflect.call(managers.replication, "handleBrokerFenced", broker, records));
            case "begin controlled shutdown":
                return elects(o, records ->
                    Reflect.call(managers.replication, "handleBrokerInControlledShutdown", broker, managers.epoch(broker), records));
            case "elect":
                return elects(o, records -> {
                    if (due == null)
                        managers.electLeaderless(records);
                    else
                        records.addAll(due);
                });
            case "elect uncleanly":
                return elects(o, records -> electLeader(UNCLEAN, records));
            case "elect preferred":
                return elects(o, records -> electLeader(PREFERRED, records));
            case "unfence":
                unfence(broker);
                return null;
            case "register":
                again = Map.of("broker", broker, "answers", managers.registerDuringSession(broker));
                managers.replay(managers.register(broker, o.get("epoch").asLong(), o.get("clean").asBoolean()));
                return null;
            case "alter partition":
                answer = alterPartition(brokers.get(broker), o);
                return null;
            case "begin removal":
                return elects(o, records -> records.addAll(managers.requested(ints(o.get("replicas")))));
            case "reassign":
                managers.replay(managers.reassign(ints(o.get("replicas"))));
                return null;
            case "heartbeat":
                return managers.heartbeat(broker, o.get("read").asLong(), o.get("wants").asText().equals("shutdown"), o.path("kept").asInt(Integer.MAX_VALUE));
            case "fail over":
                managers.failOver();
                return null;
            default:
                throw new IllegalArgumentException("no operation " + name);
        }
    }

    private interface Call {
        void into(List<ApiMessageAndVersion> records);
    }

    /** Replay what a call records if the partition is then led as wanted. */
    private Object elects(JsonNode o, Call call) {
        int wanted = o.get("leader").asInt();
        if (wanted != NO_LEADER)
            managers.putFirst(wanted);
        List<ApiMessageAndVersion> records = new ArrayList<>();
        call.into(records);
        int leader = leaderAfter(records);
        if (leader != wanted)
            throw new IllegalStateException("the controller elects " + (leader == NO_LEADER ? "nobody" : "b" + leader));
        managers.replay(records);
        return null;
    }

    private int leaderAfter(List<ApiMessageAndVersion> records) {
        int leader = (Integer) Reflect.get(managers.partition(), "leader");
        for (ApiMessageAndVersion each : records)
            if (Managers.isOfPartition(each)) {
                int changed = (Integer) Reflect.call(each.message(), "leader");
                leader = changed == NO_CHANGE ? leader : changed;
            }
        return leader;
    }

    private void electLeader(byte type, List<ApiMessageAndVersion> records) {
        ElectLeadersRequestData.TopicPartitionsCollection partitions = new ElectLeadersRequestData.TopicPartitionsCollection();
        partitions.add(new ElectLeadersRequestData.TopicPartitions().setTopic(Broker.TOPIC_PARTITION.topic()).setPartitions(List.of(0)));
        ElectLeadersRequestData request = new ElectLeadersRequestData().setElectionType(type).setTopicPartitions(partitions);
        records.addAll(Managers.records(Reflect.call(managers.replication, "electLeaders", request)));
    }

    /** Another incarnation asks to register, of a broker that is not fenced yet; nothing of it is replayed, and the next controller knows nothing of it. */
    private void registerInVain(int broker, boolean leaves) {
        try {
            List<String> answers = managers.registerDuringSession(broker);
            again = Map.of("broker", broker, "answers", answers, "leaves", List.of(leaves, managers.leavesByRegistration(broker)));
        } finally {
            managers.failOver();
        }
    }

    /** Kafka unfences and elects in one go; the model elects in its next step. */
    private void unfence(int broker) {
        List<ApiMessageAndVersion> records = new ArrayList<>();
        Reflect.call(managers.replication, "handleBrokerUnfenced", broker, managers.epoch(broker), records);
        withheld = new ArrayList<>(records);
        withheld.removeIf(each -> !Managers.isOfPartition(each));
        records.removeAll(withheld);
        managers.replay(records);
    }

    /** Answer a leader's request, and before that the same request of one that has not recovered from an unclean election. */
    private Map<String, Object> alterPartition(Broker leader, JsonNode o) {
        Broker.Proposal proposal = new ArrayList<>(leader.proposals).get(o.get("number").asInt());
        AlterPartitionRequestData.PartitionData asked = request(proposal);
        if (o.path("leader").asInt(NO_LEADER) != NO_LEADER)
            managers.putFirst(o.get("leader").asInt());
        String unrecovered = o.has("unrecovered") ? managers.errorOf(leader.id, proposal.brokerEpoch, asked.duplicate().setLeaderRecoveryState((byte) 1)) : null;
        boolean unclean = o.get("unclean").asBoolean();
        if (unclean)
            managers.allowUncleanElections(true);
        Map<String, Object> shown = managers.alterPartition(leader.id, proposal.brokerEpoch, asked);
        if (unclean)
            managers.allowUncleanElections(false);
        proposal.answered = (String) shown.get("error");
        shown.put("broker", leader.id);
        shown.put("expected", o.get("error").asText());
        if (unrecovered != null)
            shown.put("unrecovered", List.of(o.get("unrecovered").asText(), unrecovered));
        return shown;
    }

    /** A leader's request, built as DefaultAlterPartitionManager#buildRequest does. */
    private static AlterPartitionRequestData.PartitionData request(Broker.Proposal proposal) {
        Object sent = proposal.leaderAndIsr;
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        for (Object each : Scala.collection(Reflect.call(sent, "isrWithBrokerEpoch")))
            isr.add(new AlterPartitionRequestData.BrokerState().setBrokerId((Integer) Reflect.call(each, "brokerId"))
                .setBrokerEpoch((Long) Reflect.call(each, "brokerEpoch")));
        return new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
            .setLeaderEpoch((Integer) Reflect.call(sent, "leaderEpoch"))
            .setPartitionEpoch((Integer) Reflect.call(sent, "partitionEpoch"))
            .setLeaderRecoveryState((Byte) Reflect.call(Reflect.call(sent, "leaderRecoveryState"), "value"))
            .setNewIsrWithEpochs(isr);
    }

    /** The replicas in a field of the partition as it was in a partition epoch. */
    List<Integer> recorded(int partitionEpoch, String field) {
        return managers == null ? List.of() : managers.recorded(partitionEpoch, field);
    }

    /** Whether the leader had to recover from an unclean election in a partition epoch. */
    boolean recovering(int partitionEpoch) {
        return managers != null && managers.recovering(partitionEpoch);
    }

    /** What can be seen of the controller. */
    Map<String, Object> state() {
        Map<String, Object> seen = managers.state();
        if (withheld != null)
            seen.put("elects", withheld.isEmpty() ? NO_LEADER : leaderAfter(withheld));
        if (answer != null)
            seen.put("answer", answer);
        if (again != null)
            seen.put("again", again);
        return seen;
    }

    /** What the controller would record of each wish. */
    Map<String, Object> records() {
        List<Object> records = new ArrayList<>();
        Object partition = managers.partition();
        Set<Integer> active = managers.active();
        for (JsonNode each : wishes)
            records.add(PartitionChanges.change(partition, active, each));
        return Map.of("records", records);
    }

    private static int[] ints(JsonNode array) {
        int[] ints = new int[array.size()];
        Arrays.setAll(ints, number -> array.get(number).asInt());
        return ints;
    }
}
