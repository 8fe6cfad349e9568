import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** The managers that a controller consists of, and what releases spell differently about them: one topic with one partition. */
final class Managers {
    private static final String CONTROLLER = "org.apache.kafka.controller.", RECORDS = "org.apache.kafka.common.metadata.";
    private static final String METADATA_VERSION = "metadata.version", ELR_VERSION = "eligible.leader.replicas.version";
    private static final Class<?> LOG_CONTEXT = Reflect.type("org.apache.kafka.common.utils.LogContext", "org.apache.kafka.common.utils.internals.LogContext");
    private static final int NOBODY = -1;
    private static final long SESSION_MS = 9_000;

    private final Clock clock;
    private final Map<Class<?>, Method> replays = new HashMap<>();
    final Object replication;
    private final Object cluster;
    private final Object features;
    private final Object configuration;
    private final Object metadataVersion;
    private final boolean elr;
    private final Map<String, Short> levels = new HashMap<>();
    private long offset;
    private long heartbeatRecords;
    private final Map<Integer, Object> recorded = new HashMap<>();

    /** What the last AlterPartition request has led to. */
    private List<ApiMessageAndVersion> altered = List.of();

    Managers(Clock clock, boolean elr, int minInsyncReplicas) {
        this.clock = clock;
        this.elr = elr;
        Object registry = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.timeline.SnapshotRegistry"), LOG_CONTEXT),
            Reflect.make(Reflect.constructor(LOG_CONTEXT)));
        metadataVersion = metadataVersion();
        levels.put(METADATA_VERSION, (Short) Reflect.call(metadataVersion, "featureLevel"));
        if (elr && Reflect.exists("org.apache.kafka.server.common.EligibleLeaderReplicasVersion"))
            levels.put(ELR_VERSION, (short) 1);
        Object quorum = Reflect.construct(Reflect.type("org.apache.kafka.controller.QuorumFeatures"), type ->
            type == int.class ? (Object) 0 : type == Map.class ? ranges() : type == List.class ? List.of(0) : null);
        features = built("FeatureControlManager", Map.of("setSnapshotRegistry", registry, "setQuorumFeatures", quorum));
        levels.forEach((name, level) -> replay(record("FeatureLevelRecord", Map.of("setName", name, "setFeatureLevel", level))));
        configuration = built("ConfigurationControlManager", Map.of(
            "setSnapshotRegistry", registry, "setKafkaConfigSchema", schema(minInsyncReplicas), "setFeatureControl", features));
        Map<String, Object> ofCluster = new HashMap<>(Map.of("setSnapshotRegistry", registry, "setTime", clock, "setClusterId", "highwater",
            "setFeatureControlManager", features, "setSessionTimeoutNs", TimeUnit.MILLISECONDS.toNanos(SESSION_MS)));
        for (String handler : new String[] {"BrokerShutdownHandler", "BrokerUncleanShutdownHandler"})
            if (Reflect.exists(CONTROLLER + "ClusterControlManager$" + handler))
                ofCluster.put("set" + handler, Reflect.proxy(Reflect.type(CONTROLLER + "ClusterControlManager$" + handler), this::shutDown));
        cluster = built("ClusterControlManager", ofCluster);
        replication = built("ReplicationControlManager", Map.of("setSnapshotRegistry", registry, "setConfigurationControl", configuration,
            "setClusterControl", cluster, "setFeatureControl", features, "setEligibleLeaderReplicasEnabled", elr));
        Reflect.call(cluster, "activate");
    }

    /** The newest version for production, or one with ELR if that is wanted. */
    private Object metadataVersion() {
        Class<?> type = Reflect.type("org.apache.kafka.server.common.MetadataVersion");
        Object newest = Kafka.metadataVersion();
        boolean lacksElr = Reflect.has(type, "isElrSupported") && !(Boolean) Reflect.call(newest, "isElrSupported");
        return elr && lacksElr && Reflect.has(type, "latestTesting") ? Reflect.callStatic(type, "latestTesting") : newest;
    }

    private Map<String, Object> ranges() {
        Map<String, Object> ranges = new HashMap<>();
        levels.forEach((name, level) -> ranges.put(name,
            Reflect.callStatic(Reflect.type("org.apache.kafka.metadata.VersionRange"), "of", lowest(name), level)));
        return ranges;
    }

    private static short lowest(String feature) {
        return (short) (feature.equals(METADATA_VERSION) ? 1 : 0);
    }

    private static Object schema(int minInsyncReplicas) {
        ConfigDef topic = new ConfigDef()
            .define("min.insync.replicas", ConfigDef.Type.INT, minInsyncReplicas, ConfigDef.Importance.LOW, "")
            .define("unclean.leader.election.enable", ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "");
        Constructor<?> constructor = Reflect.constructor(Reflect.type("org.apache.kafka.metadata.KafkaConfigSchema"), Map.class, Map.class);
        return Reflect.make(constructor, Map.of(ConfigResource.Type.TOPIC, topic), Map.of());
    }

    /** QuorumController's handler of a registration after which an earlier incarnation is gone. */
    private Object shutDown(String name, Object[] arguments) {
        String handler = arguments.length == 3 ? "handleBrokerShutdown" : "handleBrokerUncleanShutdown";
        return Reflect.call(replication, handler, arguments);
    }

    /** A manager by its builder. A release whose builder lacks one of these has no use for it. */
    private static Object built(String manager, Map<String, Object> parts) {
        Object builder = Reflect.make(Reflect.constructor(Reflect.type(CONTROLLER + manager + "$Builder")));
        set(builder, parts);
        return Reflect.call(builder, "build");
    }

    private static void set(Object target, Map<String, Object> parts) {
        parts.forEach((name, value) -> {
            if (Reflect.has(target.getClass(), name))
                Reflect.call(target, name, value);
        });
    }

    private static Object record(String name, Map<String, Object> parts) {
        Object made = Reflect.make(Reflect.constructor(Reflect.type(RECORDS + name)));
        set(made, parts);
        return made;
    }

    /** What a ControllerResult wants to be written. */
    @SuppressWarnings("unchecked")
    static List<ApiMessageAndVersion> records(Object result) {
        return (List<ApiMessageAndVersion>) Reflect.call(result, "records");
    }

    static boolean isOfPartition(ApiMessageAndVersion record) {
        return record.message().getClass().getSimpleName().equals("PartitionChangeRecord");
    }

    void replay(List<ApiMessageAndVersion> records) {
        for (ApiMessageAndVersion each : records)
            replay(each.message());
        recorded.put((Integer) Reflect.get(partition(), "partitionEpoch"), partition());
    }

    /** The replicas in a field of the partition as it was in a partition epoch, such as those that a reassignment was adding. */
    List<Integer> recorded(int partitionEpoch, String field) {
        return recorded.containsKey(partitionEpoch) ? idsOf(recorded.get(partitionEpoch), field) : List.of();
    }

    /** Whether the leader had to recover from an unclean election in a partition epoch. */
    boolean recovering(int partitionEpoch) {
        return recorded.containsKey(partitionEpoch) && recovering(recorded.get(partitionEpoch));
    }

    private static boolean recovering(Object partition) {
        return (Byte) Reflect.call(Reflect.get(partition, "leaderRecoveryState"), "value") == 1;
    }

    private void replay(Object record) {
        String name = record.getClass().getSimpleName();
        if (name.equals("RegisterBrokerRecord"))
            replay(cluster, record, offset++);
        else
            replay(name.equals("FeatureLevelRecord") ? features : name.equals("ConfigRecord") ? configuration : name.equals("BrokerRegistrationChangeRecord") ? cluster : replication, record);
    }

    private void replay(Object manager, Object... arguments) {
        Method method = replays.computeIfAbsent(arguments[0].getClass(), record -> Arrays.stream(manager.getClass().getDeclaredMethods())
            .filter(each -> each.getName().equals("replay") && Reflect.types(each)[0] == record).findFirst()
            .orElseThrow(() -> new Reflect.Missing("no " + manager.getClass().getSimpleName() + "#replay(" + record.getSimpleName() + ")")));
        Reflect.invoke(manager, method, arguments);
    }

    private static Uuid incarnation(int broker, long epoch) {
        return new Uuid(1 + epoch, 1 + broker);
    }

    static List<Uuid> directories(int broker) {
        return List.of(new Uuid(1_000, 1 + broker));
    }

    /** A broker that has registered before. */
    void registered(int broker, long epoch, boolean fenced) {
        replay(record("RegisterBrokerRecord", Map.of("setBrokerId", broker, "setBrokerEpoch", epoch, "setFenced", fenced,
            "setIncarnationId", incarnation(broker, epoch), "setLogDirs", directories(broker))));
    }

    /** What is recorded when a new incarnation registers. */
    List<ApiMessageAndVersion> register(int broker, long epoch, boolean clean) {
        BrokerRegistrationRequestData request = new BrokerRegistrationRequestData().setBrokerId(broker).setClusterId("highwater")
            .setIncarnationId(incarnation(broker, epoch));
        set(request, Map.of("setLogDirs", directories(broker), "setPreviousBrokerEpoch", clean ? epoch(broker) : -1L));
        levels.forEach((name, level) -> request.features().add(new BrokerRegistrationRequestData.Feature().setName(name)
            .setMinSupportedVersion(lowest(name)).setMaxSupportedVersion(level)));
        Object finalized = Reflect.construct(Reflect.type("org.apache.kafka.controller.FinalizedControllerFeatures",
            "org.apache.kafka.metadata.FinalizedControllerFeatures"), type -> type == Map.class ? levels : (Object) 0L);
        Method register = Reflect.byName(cluster.getClass(), "registerBroker");
        return records(Reflect.invoke(cluster, register, Reflect.supply(Reflect.types(register), type -> {
            if (type == short.class)
                return Reflect.constant(BrokerRegistrationRequestData.class, "HIGHEST_SUPPORTED_VERSION");
            return type == long.class ? (Object) epoch : type == boolean.class ? (Object) true : type.isInstance(request) ? request : finalized;
        })));
    }

    /**
     * The controller hears of a broker, and another incarnation asks to register: at once, and at the end of that session. Until 3.9 a fenced broker
     * has no session. Afterwards it is over.
     *
     * @return the error that must come, and what comes
     */
    List<String> registerDuringSession(int broker) {
        boolean fenced = (Boolean) Reflect.call(Reflect.call(cluster, "registration", broker), "fenced");
        boolean tracked = Reflect.has(cluster.getClass(), "trackBrokerHeartbeat");
        if (tracked)
            Reflect.call(cluster, "trackBrokerHeartbeat", broker, epoch(broker));
        else
            Reflect.call(Reflect.call(cluster, "heartbeatManager"), "touch", broker, fenced, 0L);
        String atOnce = errorOfRegistration(broker);
        clock.advance(SESSION_MS);
        String atTheEnd = errorOfRegistration(broker);
        clock.advance(1);
        return List.of((fenced && !tracked ? Errors.NONE : Errors.DUPLICATE_BROKER_REGISTRATION).name(), atOnce, atTheEnd);
    }

    private String errorOfRegistration(int broker) {
        try {
            register(broker, epoch(broker) + 1, true);
            return Errors.NONE.name();
        } catch (ApiException e) {
            return Errors.forException(e).name();
        }
    }

    /** Whether the controller changes the partition if another incarnation registers now, as one that has shut down cleanly. */
    boolean leavesByRegistration(int broker) {
        return register(broker, epoch(broker) + 1, true).stream().anyMatch(Managers::isOfPartition);
    }

    /**
     * What QuorumController makes of a heartbeat, with the offset that it notes for a controlled shutdown.
     *
     * @param read how many records the broker has read, of those that heartbeats led to
     * @param kept how many of the records are replayed; the others are lost
     */
    Map<String, Object> heartbeat(int broker, long read, boolean wantsShutdown, int kept) {
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(broker).setBrokerEpoch(epoch(broker))
            .setCurrentMetadataOffset(read).setWantShutDown(wantsShutdown);
        Object result = Reflect.call(replication, "processBrokerHeartbeat", request, 0L);
        List<ApiMessageAndVersion> records = records(result);
        Object reply = Reflect.call(result, "response");
        boolean leaves = (Boolean) Reflect.call(reply, "inControlledShutdown");
        replay(records.subList(0, Math.min(kept, records.size())));
        heartbeatRecords += Math.min(kept, records.size());
        if (leaves) {
            Object heartbeats = Reflect.call(cluster, "heartbeatManager");
            Reflect.call(heartbeats, "maybeUpdateControlledShutdownOffset", broker, heartbeatRecords);
        }
        List<Object> shown = new ArrayList<>();
        for (ApiMessageAndVersion each : records)
            shown.add(each.message().getClass().getSimpleName());
        return Map.of("records", shown, "in controlled shutdown", leaves, "may shut down", Reflect.call(reply, "shouldShutDown"));
    }

    /** Whether the topic allows unclean elections. */
    void allowUncleanElections(boolean allowed) {
        configure("unclean.leader.election.enable", allowed ? "true" : null);
    }

    /** The topic's min.insync.replicas. */
    void requireInSync(int replicas) {
        configure("min.insync.replicas", String.valueOf(replicas));
    }

    private void configure(String name, String value) {
        Map<String, Object> parts = new HashMap<>(Map.of("setResourceType", (byte) 2, "setResourceName", Broker.TOPIC_PARTITION.topic(), "setName", name));
        parts.put("setValue", value);
        replay(record("ConfigRecord", parts));
    }

    /** What is recorded when a broker says that it has its replica in a log directory. */
    List<ApiMessageAndVersion> assign(int broker, Uuid directory) {
        Object partition = ofAssignment("$PartitionData", Map.of("setPartitionIndex", 0));
        Object topic = ofAssignment("$TopicData", Map.of("setTopicId", Broker.TOPIC_ID, "setPartitions", List.of(partition)));
        Object place = ofAssignment("$DirectoryData", Map.of("setId", directory, "setTopics", List.of(topic)));
        return records(Reflect.call(replication, "handleAssignReplicasToDirs", ofAssignment("",
            Map.of("setBrokerId", broker, "setBrokerEpoch", epoch(broker), "setDirectories", List.of(place)))));
    }

    private static Object ofAssignment(String name, Map<String, Object> parts) {
        Object made = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.common.message.AssignReplicasToDirsRequestData" + name)));
        set(made, parts);
        return made;
    }

    /** The error that the controller would answer to a request for another ISR. */
    String errorOf(int broker, long epoch, AlterPartitionRequestData.PartitionData asked) {
        return (String) alterPartition(Broker.TOPIC_ID, broker, epoch, asked, false).get("error");
    }

    /** Ask for another ISR, and replay what that leads to. */
    Map<String, Object> alterPartition(int broker, long epoch, AlterPartitionRequestData.PartitionData asked) {
        return alterPartition(Broker.TOPIC_ID, broker, epoch, asked);
    }

    /** The same of a topic that there may not be. */
    Map<String, Object> alterPartition(Uuid topicId, int broker, long epoch, AlterPartitionRequestData.PartitionData asked) {
        return alterPartition(topicId, broker, epoch, asked, true);
    }

    private Map<String, Object> alterPartition(Uuid topicId, int broker, long epoch, AlterPartitionRequestData.PartitionData asked, boolean replayed) {
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(broker).setBrokerEpoch(epoch)
            .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(topicId).setPartitions(List.of(asked))));
        Map<String, Object> shown = new LinkedHashMap<>();
        altered = List.of();
        try {
            Object result = Reflect.call(replication, "alterPartition", context(), request);
            altered = records(result);
            if (replayed)
                replay(altered);
            Object topic = ((List<?>) Reflect.call(Reflect.call(result, "response"), "topics")).get(0);
            Object partition = ((List<?>) Reflect.call(topic, "partitions")).get(0);
            shown.put("error", Errors.forCode((Short) Reflect.call(partition, "errorCode")).name());
            for (String key : new String[] {"leaderEpoch", "partitionEpoch", "isr"})
                shown.put(key, Reflect.call(partition, key));
            shown.put("recovering", (Byte) Reflect.call(partition, "leaderRecoveryState") == 1);
        } catch (ApiException e) {
            shown.put("error", Errors.forException(e).name());
        }
        return shown;
    }

    List<ApiMessageAndVersion> altered() {
        return altered;
    }

    private static Object context() {
        Class<?> type = Reflect.type("org.apache.kafka.controller.ControllerRequestContext");
        return Reflect.make(Reflect.constructor(type, RequestHeaderData.class, KafkaPrincipal.class, OptionalLong.class),
            new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS, OptionalLong.empty());
    }

    /** Another controller is active, and has replayed the same records. */
    void failOver() {
        Reflect.call(cluster, "deactivate");
        Reflect.call(cluster, "activate");
    }

    long epoch(int broker) {
        return (Long) Reflect.call(Reflect.call(cluster, "registration", broker), "epoch");
    }

    /** Begin with a partition that was not there before. */
    void create(int leader, int[] isr, int[] replicas) {
        create(Map.of("setReplicas", ids(replicas), "setIsr", ids(isr), "setLeader", leader, "setLeaderEpoch", 0, "setPartitionEpoch", 0));
    }

    /** Begin with a partition of which a record has these fields, as far as the release knows them. */
    void create(Map<String, Object> fields) {
        recorded.clear();
        if (partition() != null)
            replay(record("RemoveTopicRecord", Map.of("setTopicId", Broker.TOPIC_ID)));
        replay(record("TopicRecord", Map.of("setTopicId", Broker.TOPIC_ID, "setName", Broker.TOPIC_PARTITION.topic())));
        Map<String, Object> parts = new HashMap<>(fields);
        parts.putAll(Map.of("setTopicId", Broker.TOPIC_ID, "setPartitionId", 0));
        replay(record("PartitionRecord", parts));
    }

    Object partition() {
        return Reflect.call(replication, "getPartition", Broker.TOPIC_ID, 0);
    }

    /** Replay the partition with another order of its replicas, all else the same. */
    void putFirst(int replica) {
        Object now = partition();
        List<Integer> replicas = ids(Reflect.get(now, "replicas"));
        if (!replicas.remove((Integer) replica))
            return;
        replicas.add(0, replica);
        Map<String, Object> parts = new HashMap<>(Map.of("setTopicId", Broker.TOPIC_ID, "setPartitionId", 0, "setReplicas", replicas,
            "setIsr", ids(Reflect.get(now, "isr")), "setLeader", Reflect.get(now, "leader"), "setLeaderEpoch", Reflect.get(now, "leaderEpoch"),
            "setPartitionEpoch", Reflect.get(now, "partitionEpoch"),
            "setLeaderRecoveryState", Reflect.call(Reflect.get(now, "leaderRecoveryState"), "value")));
        parts.put("setAddingReplicas", idsOf(now, "addingReplicas"));
        parts.put("setRemovingReplicas", idsOf(now, "removingReplicas"));
        parts.put("setEligibleLeaderReplicas", idsOf(now, "elr"));
        parts.put("setLastKnownElr", idsOf(now, "lastKnownElr"));
        replay(record("PartitionRecord", parts));
    }

    private static List<Integer> ids(Object array) {
        List<Integer> ids = new ArrayList<>();
        for (int each : (int[]) array)
            ids.add(each);
        return ids;
    }

    /** A field of replicas, empty in releases that do not have it. */
    private static List<Integer> idsOf(Object partition, String field) {
        return Reflect.hasField(partition.getClass(), field) ? ids(Reflect.get(partition, field)) : new ArrayList<>();
    }

    /** The election that follows an unfencing, without one: ReplicationControlManager#generateLeaderAndIsrUpdates. */
    void electLeaderless(List<ApiMessageAndVersion> records) {
        Iterator<?> leaderless = (Iterator<?>) Reflect.call(Reflect.call(replication, "brokersToIsrs"), "partitionsWithNoLeader");
        Method updates = Reflect.own(replication.getClass(), "generateLeaderAndIsrUpdates");
        Reflect.invoke(replication, updates, Reflect.supply(Reflect.types(updates), type ->
            type == int.class ? (Object) NOBODY : type == String.class ? "elect" : type == List.class ? records : leaderless));
    }

    /**
     * What the controller records of a request for another assignment. The model has its first step, which adds replicas, and its last one, which
     * removes them: if that does not follow at once, what PartitionChangeBuilder makes of it.
     */
    List<ApiMessageAndVersion> reassign(int[] replicas) {
        List<ApiMessageAndVersion> records = requested(replicas);
        boolean atOnce = records.size() == 1 && Set.copyOf(ids(replicas)).equals(Set.copyOf(replicasOf(records.get(0).message())));
        return atOnce ? records : changed(replicas);
    }

    /** What the controller records of a request for another assignment. */
    List<ApiMessageAndVersion> requested(int[] replicas) {
        AlterPartitionReassignmentsRequestData request = new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(Broker.TOPIC_PARTITION.topic()).setPartitions(List.of(
                new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(0).setReplicas(ids(replicas))))));
        return records(Reflect.call(replication, "alterPartitionReassignments", request));
    }

    private static List<Integer> replicasOf(Object record) {
        List<?> replicas = (List<?>) Reflect.call(record, "replicas");
        return replicas == null ? List.of() : replicas.stream().map(each -> (Integer) each).collect(Collectors.toList());
    }

    /** What PartitionChangeBuilder records of another assignment; members of the ISR stay those that are assigned. */
    private List<ApiMessageAndVersion> changed(int[] replicas) {
        Object now = partition();
        Class<?> type = Reflect.type(CONTROLLER + "PartitionChangeBuilder");
        Constructor<?> constructor = Reflect.longest(type);
        boolean[] idGiven = {false};
        boolean withVersion = Arrays.asList(Reflect.types(constructor)).contains(metadataVersion.getClass());
        Object builder = Reflect.make(constructor, Reflect.supply(Reflect.types(constructor), each -> {
            if (each.isInstance(now))
                return now;
            if (each == int.class) {
                boolean minIsr = idGiven[0];
                idGiven[0] = true;
                return minIsr ? Reflect.call(replication, "getTopicEffectiveMinIsr", Broker.TOPIC_PARTITION.topic()) : (Object) 0;
            }
            if (each == boolean.class)
                return !withVersion || elr;  // until 3.5 it says that leaders can recover
            return each == Uuid.class ? Broker.TOPIC_ID : each == IntPredicate.class ? (IntPredicate) this::isActive : metadataVersion;
        }));
        List<Integer> isr = ids(Reflect.get(now, "isr"));
        isr.retainAll(ids(replicas));
        Map<String, Object> parts = new HashMap<>(
            Map.of("setTargetReplicas", ids(replicas), "setTargetIsr", isr, "setTargetAdding", List.of(), "setTargetRemoving", List.of(),
                "setEligibleLeaderReplicasEnabled", elr));
        if (Reflect.has(type, "setDefaultDirProvider"))
            parts.put("setDefaultDirProvider",
                Reflect.proxy(Reflect.type("org.apache.kafka.metadata.placement.DefaultDirProvider"), (name, arguments) -> Uuid.ZERO_UUID));
        set(builder, parts);
        Object record = Scala.unwrap(Reflect.call(builder, "build"));
        return record == null ? List.of() : List.of((ApiMessageAndVersion) record);
    }

    private boolean isActive(int broker) {
        return (Boolean) Reflect.call(cluster, "isActive", broker);
    }

    /** The brokers that may lead. */
    Set<Integer> active() {
        Set<Integer> active = new HashSet<>();
        for (int broker = 0; Reflect.call(cluster, "registration", broker) != null; broker++)
            if (isActive(broker))
                active.add(broker);
        return active;
    }

    Map<String, Object> state() {
        Map<String, Object> seen = new LinkedHashMap<>();
        Object partition = partition();
        for (String key : new String[] {"leader", "leaderEpoch", "partitionEpoch"})
            seen.put(key, Reflect.get(partition, key));
        for (String key : new String[] {"replicas", "isr", "elr", "lastKnownElr"})
            seen.put(key, idsOf(partition, key));
        seen.put("adding", idsOf(partition, "addingReplicas"));
        seen.put("removing", idsOf(partition, "removingReplicas"));
        seen.put("recovering", recovering(partition));
        List<Object> registrations = new ArrayList<>();
        for (int broker = 0; ; broker++) {
            Object each = Reflect.call(cluster, "registration", broker);
            if (each == null)
                break;
            boolean fenced = (Boolean) Reflect.call(each, "fenced"), leaves = (Boolean) Reflect.call(each, "inControlledShutdown");
            registrations.add(List.of(fenced ? "fenced" : leaves ? "shutting down" : "active", Reflect.call(each, "epoch")));
        }
        seen.put("registrations", registrations);
        return seen;
    }
}
