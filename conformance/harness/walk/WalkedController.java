import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Kafka's QuorumController with all its managers, and how far its replica of the metadata log has been read. */
final class WalkedController {
    static final long SESSION_MS = 9_000;
    static final String CLUSTER = "highwater", MIN_ISR = "min.insync.replicas";
    private static final String UNCLEAN = "unclean.leader.election.enable", ELR_VERSION = "eligible.leader.replicas.version";
    private static final Class<?> FEATURES = Reflect.type("org.apache.kafka.controller.QuorumFeatures");
    private static final Class<?> BOOTSTRAP = Reflect.type("org.apache.kafka.metadata.bootstrap.BootstrapMetadata");

    final int id;
    final Object real;
    final KafkaEventQueue queue;
    private final ControlPlane plane;
    private final int number;
    private Object listener;
    /** How many committed batches it has read, and the epoch that it knows. */
    int read, knownEpoch;
    /** The epoch that it has resigned from, of itself. */
    int resigned = -1;
    /** Set while another controller is active and this one does not know: what it takes for committed, and its own end of the log. */
    private boolean deposed;
    private int committedThen;
    private long ownEnd;

    WalkedController(ControlPlane plane, int number) {
        this.plane = plane;
        this.number = number;
        id = ControlPlane.FIRST_CONTROLLER + number;
        Object builder = Reflect.construct(Reflect.type("org.apache.kafka.controller.QuorumController$Builder"),
            type -> type == int.class ? (Object) id : CLUSTER);
        settings().forEach((name, value) -> {
            if (has(builder.getClass(), name))
                Reflect.call(builder, name, value);
        });
        real = Reflect.call(builder, "build");
        queue = plane.newQueues().get(0);
    }

    private Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("setTime", plane.clock);
        settings.put("setNonFatalFaultHandler", plane.faultHandler());
        settings.put("setFatalFaultHandler", plane.faultHandler());
        settings.put("setRaftClient", Reflect.proxy(Reflect.type("org.apache.kafka.raft.RaftClient"), this::asked));
        settings.put("setQuorumFeatures", Reflect.construct(FEATURES, type -> type == int.class ? (Object) id : type == Map.class ? supported() : voters()));
        settings.put("setSessionTimeoutNs", SESSION_MS * 1_000_000);
        settings.put("setLeaderImbalanceCheckIntervalNs", OptionalLong.empty());
        settings.put("setMaxIdleIntervalNs", OptionalLong.empty());
        settings.put("setReplicaPlacer", Reflect.make(Reflect.longest(Reflect.type("org.apache.kafka.metadata.placement.StripedReplicaPlacer")), new Random(number)));
        settings.put("setEligibleLeaderReplicasEnabled", plane.elr);
        settings.put("setConfigSchema", schema());
        settings.put("setBootstrapMetadata", bootstrap());
        settings.put("setStaticConfig", Map.of());
        return settings;
    }

    static boolean has(Class<?> type, String method) {
        for (java.lang.reflect.Method each : type.getDeclaredMethods())
            if (each.getName().equals(method))
                return true;
        return false;
    }

    private static List<Integer> voters() {
        List<Integer> ids = new ArrayList<>();
        for (int each = 0; each < ControlPlane.CONTROLLERS; each++)
            ids.add(ControlPlane.FIRST_CONTROLLER + each);
        return ids;
    }

    /** The versions of features that a node supports, those for tests among them. */
    static Object supported() {
        return Reflect.callStatic(FEATURES, has(FEATURES, "defaultSupportedFeatureMap") ? "defaultSupportedFeatureMap" : "defaultFeatureMap", true);
    }

    /** With ELR 3.9 needs a metadata version for tests. */
    private Object bootstrap() {
        Class<?> versions = MetadataVersion.class;
        boolean byFeature = Reflect.exists("org.apache.kafka.server.common.EligibleLeaderReplicasVersion");
        Object version = plane.elr && !byFeature ? Reflect.callStatic(versions, "latestTesting") : MetadataVersion.latestProduction();
        return plane.elr && byFeature ? Reflect.callStatic(BOOTSTRAP, "fromVersions", version, Map.of(ELR_VERSION, (short) 1), "walk")
            : Reflect.callStatic(BOOTSTRAP, "fromVersion", version, "walk");
    }

    private static Object schema() {
        ConfigDef known = new ConfigDef().define(MIN_ISR, ConfigDef.Type.INT, 1, ConfigDef.Importance.LOW, "")
            .define(UNCLEAN, ConfigDef.Type.BOOLEAN, false, ConfigDef.Importance.LOW, "")
            .define("cordoned.log.dirs", ConfigDef.Type.LIST, "", ConfigDef.Importance.LOW, "");
        Class<?> synonym = Reflect.type("org.apache.kafka.server.config.ConfigSynonym");
        Map<String, Object> synonyms = new HashMap<>();
        for (String each : new String[] {MIN_ISR, UNCLEAN})
            synonyms.put(each, List.of(Reflect.make(Reflect.constructor(synonym, String.class), each)));
        return Reflect.make(Reflect.longest(Reflect.type("org.apache.kafka.metadata.KafkaConfigSchema")),
            Map.of(ConfigResource.Type.TOPIC, known, ConfigResource.Type.BROKER, known), synonyms);
    }

    // ---- its replica of the metadata log

    private Object asked(String name, Object[] arguments) {
        switch (name) {
            case "register":
                listener = arguments[0];
                return null;
            case "nodeId":
                return OptionalInt.of(id);
            case "leaderAndEpoch":
                return deposed ? plane.leaderAndEpoch(number, knownEpoch) : plane.leaderAndEpoch(plane.active, plane.epoch);
            case "highWatermark":
                return OptionalLong.of(plane.committedEnd());
            case "logEndOffset":
                return deposed ? ownEnd : plane.end();
            case "kraftVersion":
                return KRaftVersion.KRAFT_VERSION_0;
            case "prepareAppend":
                return append((Integer) arguments[0], (List<?>) arguments[1]);
            case "resign":
                if ((Integer) arguments[0] == plane.epoch)
                    resigned = plane.epoch;
                return null;
            case "latestSnapshotId":
            case "createSnapshot":
            case "voterNode":
                return Optional.empty();
            default:
                return null;
        }
    }

    /** Append a batch; what a deposed controller appends goes nowhere. */
    private long append(int asEpoch, List<?> records) {
        List<ApiMessageAndVersion> read = new ArrayList<>();
        for (Object each : records)
            read.add(ControlPlane.reread((ApiMessageAndVersion) each));
        ControlPlane.Batch batch = new ControlPlane.Batch(deposed ? ownEnd : plane.end(), asEpoch, read);
        if (deposed)
            ownEnd = batch.end();
        else
            plane.uncommitted.add(batch);
        return batch.end() - 1;
    }

    /** Another controller is elected, which this one does not know yet. */
    void deposed() {
        deposed = true;
        committedThen = plane.committed.size();
        ownEnd = plane.end();
    }

    boolean knowsEpoch() {
        return knownEpoch == plane.epoch;
    }

    /** Learn of the present epoch. The elected one reads all before, as KafkaRaftClient sees to; another one first hears that nobody leads. */
    void learnEpoch() {
        if (knowsEpoch())
            return;
        boolean elected = plane.active == number;
        if (deposed || knownEpoch != 0 && !elected) {
            deposed = false;
            tell(ControlPlane.NOBODY);
        }
        knownEpoch = plane.epoch;
        if (elected)
            read(Integer.MAX_VALUE);
        tell(plane.active);
    }

    private void tell(int leader) {
        Reflect.call(listener, "handleLeaderChange", plane.leaderAndEpoch(leader, plane.epoch));
    }

    /** Read some committed batches in one call. */
    boolean read(int batches) {
        int until = (int) Math.min((long) read + batches, deposed ? committedThen : plane.committed.size());
        if (until <= read)
            return false;
        List<ControlPlane.Batch> next = new ArrayList<>(plane.committed.subList(read, until));
        read = until;
        Reflect.call(listener, "handleCommit", plane.reader(next));
        return true;
    }

    boolean isActive() {
        return (Boolean) Reflect.call(real, "isActive");
    }

    // ---- requests

    static Object context() {
        Object quota = (Consumer<Object>) ignored -> { };
        return Reflect.construct(Reflect.type("org.apache.kafka.controller.ControllerRequestContext"), type ->
            type == RequestHeaderData.class ? new RequestHeaderData().setRequestApiVersion((short) 3)
                : type == OptionalLong.class ? OptionalLong.empty() : type == Consumer.class ? quota : KafkaPrincipal.ANONYMOUS);
    }

    /** Ask the controller; `arguments` are those of the newest release, and an older one takes fewer. */
    CompletableFuture<?> ask(String name, Object... arguments) {
        Method method = Reflect.byName(real.getClass(), name);
        Object[] taken = new Object[method.getParameterCount()];
        taken[0] = context();
        System.arraycopy(arguments, 0, taken, 1, taken.length - 1);
        try {
            return (CompletableFuture<?>) Reflect.invoke(real, method, taken);
        } catch (ApiException e) {  // since 4.0 a standby throws at a heartbeat, and ControllerApis answers with that
            return CompletableFuture.failedFuture(e);
        }
    }

    /** Answer a broker as ControllerApis does, when the controller has decided. */
    void serve(Letter letter) {
        switch (letter.about) {
            case REGISTRATION:
                answer(letter, "registerBroker", reply -> new BrokerRegistrationResponseData().setBrokerEpoch((Long) Reflect.get(reply, "epoch")),
                    error -> new BrokerRegistrationResponseData().setErrorCode(error.code()));
                return;
            case HEARTBEAT:
                answer(letter, "processBrokerHeartbeat", WalkedController::heartbeatAnswer, error -> new BrokerHeartbeatResponseData().setErrorCode(error.code()));
                return;
            default:
                answer(letter, "alterPartition", reply -> (ApiMessage) reply, error -> new AlterPartitionResponseData().setErrorCode(error.code()));
        }
    }

    private static ApiMessage heartbeatAnswer(Object reply) {
        return new BrokerHeartbeatResponseData().setIsCaughtUp((Boolean) Reflect.call(reply, "isCaughtUp"))
            .setIsFenced((Boolean) Reflect.call(reply, "isFenced")).setShouldShutDown((Boolean) Reflect.call(reply, "shouldShutDown"));
    }

    private void answer(Letter letter, String method, Function<Object, ApiMessage> good, Function<Errors, ApiMessage> bad) {
        ask(method, letter.data).whenComplete((reply, thrown) ->
            plane.letters.add(letter.answered(thrown == null ? good.apply(reply) : bad.apply(Letter.error(thrown)))));
    }

    // ---- what is seen

    Object replication() {
        return Reflect.call(real, "replicationControl");
    }

    PartitionRegistration partition(Uuid topic, int index) {
        return (PartitionRegistration) Reflect.call(replication(), "getPartition", topic, index);
    }

    /** "absent", "fenced", "leaving" or "active". */
    String standing(int broker) {
        return standing(Reflect.call(Reflect.call(real, "clusterControl"), "registration", broker));
    }

    long brokerEpoch(int broker) {
        Object registration = Reflect.call(Reflect.call(real, "clusterControl"), "registration", broker);
        return registration == null ? -1 : (Long) Reflect.call(registration, "epoch");
    }

    static String standing(Object registration) {
        return registration == null ? "absent" : (Boolean) Reflect.call(registration, "fenced") ? "fenced"
            : (Boolean) Reflect.call(registration, "inControlledShutdown") ? "leaving" : "active";
    }

    /** All topics by name, with their partitions. */
    Map<String, Map<Integer, PartitionRegistration>> topics() {
        Map<String, Map<Integer, PartitionRegistration>> topics = new TreeMap<>();
        for (Object each : ((Map<?, ?>) Reflect.read(replication(), "topics")).values()) {
            Map<Integer, PartitionRegistration> partitions = new TreeMap<>();
            ((Map<?, ?>) Reflect.read(each, "parts")).forEach((index, partition) -> partitions.put((Integer) index, (PartitionRegistration) partition));
            topics.put((String) Reflect.read(each, "name"), partitions);
        }
        return topics;
    }
}
