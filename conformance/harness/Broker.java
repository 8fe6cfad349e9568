import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.OperationNotAttemptedException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.DeleteRecordsRequest;
import org.apache.kafka.common.requests.FetchRequest;

/** One broker: a real LogManager over a folder, a real metadata cache, and the real Partition once it has learned of the partition. */
final class Broker {
    /** A request to alter the partition that waits for the controller, and the future that Partition waits for. */
    static final class Proposal {
        final Object leaderAndIsr;
        final long brokerEpoch;
        final CompletableFuture<Object> future = new CompletableFuture<>();
        /** The error that the controller has answered, by its name; of a request that was sent again, what it will answer. */
        String answered = Errors.INVALID_UPDATE_VERSION.name();

        Proposal(Object leaderAndIsr, long brokerEpoch) {
            this.leaderAndIsr = leaderAndIsr;
            this.brokerEpoch = brokerEpoch;
        }
    }

    private static final Class<?> PARTITION = Reflect.type("kafka.cluster.Partition");
    private static final Class<?> REPLICA_MANAGER = Reflect.type("kafka.server.ReplicaManager");
    private static final Metrics METRICS = new Metrics();
    // 4.3 has a class of the newer name, too, and 4.4 one of the older: neither is the log manager
    private static final Class<?> LOG_MANAGER = Reflect.type(
        Reflect.exists("org.apache.kafka.storage.internals.log.LogManager$LogCleanerBuilder") ? "org.apache.kafka.storage.internals.log.LogManager" : "kafka.log.LogManager");
    private static final Class<?> LOG_CONFIG = Reflect.type("org.apache.kafka.storage.internals.log.LogConfig");
    private static final Class<?> CLEANER_CONFIG = Reflect.type("org.apache.kafka.storage.internals.log.CleanerConfig");
    private static final Class<?> PRODUCER_CONFIG = Reflect.type("org.apache.kafka.storage.internals.log.ProducerStateManagerConfig");
    private static final Class<?> STATS = Reflect.type("kafka.server.BrokerTopicStats", "org.apache.kafka.storage.log.metrics.BrokerTopicStats");
    private static final Class<?> FAILURES = Reflect.type("org.apache.kafka.storage.internals.log.LogDirFailureChannel");
    private static final Class<?> CONFIGS = Reflect.type("kafka.server.metadata.ConfigRepository", "org.apache.kafka.metadata.ConfigRepository");
    private static final Class<?> CACHE = Reflect.type("kafka.server.metadata.KRaftMetadataCache", "org.apache.kafka.metadata.KRaftMetadataCache");
    private static final Class<?> QUOTA_FACTORY = Reflect.type("kafka.server.QuotaFactory", "org.apache.kafka.server.quota.QuotaFactory");
    private static final Class<?> REPLICA_STATE = Reflect.type("kafka.cluster.ReplicaState", "org.apache.kafka.server.replica.ReplicaState");

    static final TopicPartition TOPIC_PARTITION = new TopicPartition("t", 0);
    static final Uuid TOPIC_ID = new Uuid(2, 1);
    static {
        // nobody looks at the metrics from outside, and to register each takes longer than to make it
        Object metrics = Reflect.constant(Reflect.type("org.apache.kafka.server.metrics.KafkaYammerMetrics"), "INSTANCE");
        Reflect.call(Reflect.read(metrics, "jmxReporter"), "shutdown");
    }

    /** The defaults of all topics: to read them takes longer than all else that a start has to read. */
    private static final Object DEFAULTS = Reflect.make(Reflect.constructor(LOG_CONFIG, Map.class), new Properties());
    /** Counts of bytes and requests, which nothing depends on. */
    private static final Object COUNTS = Reflect.construct(STATS, type -> type == boolean.class ? (Object) false : Optional.empty());
    private static final Object NEVER = Reflect.proxy(ScheduledFuture.class, (name, arguments) -> null);

    final int id;
    final Clock clock;
    private final List<File> folders;
    private final Properties topicConfig;
    private Object logManager;
    private Object replicaManager;
    private Object config;
    private Object quotas;
    private Object cache;
    private String image = "";
    private Kafka.Change learned;

    private int fetchRecords = 1;
    private boolean serving;
    private boolean leaves;
    private boolean leftBehind;
    private int refusals;
    private int newest;
    /** Whether the newest metadata say that the leader has to recover from an unclean election. */
    private boolean recovering;
    private Object heard;
    private static Broker measured;
    boolean up;
    long epoch;
    long checkpoint;
    Object partition;
    final Deque<Proposal> proposals = new ArrayDeque<>();
    final Follower follower = new Follower(this);
    final Requests requests = new Requests();
    final Moving moving = new Moving(this);

    Broker(int id, Clock clock, File folder, Properties topicConfig) {
        this.id = id;
        this.clock = clock;
        this.folders = List.of(folder, new File(folder.getPath() + "-other"));
        this.topicConfig = topicConfig;
        for (File each : folders)
            prepare(each, new Uuid(2_000 + folders.indexOf(each), 1 + id));
        start();
    }

    /** Make a log directory, which has a name for the controller. */
    private void prepare(File folder, Uuid directory) {
        folder.mkdirs();
        try {
            Files.writeString(new File(folder, "meta.properties").toPath(),
                "version=1\ncluster.id=highwater\nnode.id=" + id + "\ndirectory.id=" + directory + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Start a process: a log manager that loads what is in the folder, and a metadata cache that has read nothing. */
    private void start() {
        Deque<List<File>> given = new ArrayDeque<>(List.of(folders, List.of()));  // those of logs, and those that failed
        boolean[] first = {Reflect.has(LOG_MANAGER, "keepPartitionMetadataFile")};  // that logs keep their topic's id: later ones always do
        logManager = Reflect.construct(LOG_MANAGER, type -> {
            if (type == List.class)
                return given.remove();
            if (type.getSimpleName().equals("Seq"))
                return Scala.list(given.remove());
            if (type == CONFIGS)
                return Reflect.proxy(CONFIGS, (name, arguments) -> topicConfig);
            if (type == LOG_CONFIG)
                return DEFAULTS;
            if (type == CLEANER_CONFIG)
                return Reflect.make(Reflect.constructor(CLEANER_CONFIG, boolean.class), false);
            if (type == PRODUCER_CONFIG)
                return Reflect.construct(PRODUCER_CONFIG, p -> p == int.class ? (Object) 86_400_000 : (Object) false);
            if (type.getSimpleName().equals("MetadataVersion"))
                return Kafka.metadataVersion();
            if (type.getSimpleName().equals("Scheduler"))
                return scheduler(type);
            if (type == STATS)
                return COUNTS;
            if (type == FAILURES)
                return Reflect.construct(FAILURES, p -> 1);
            if (type.getSimpleName().equals("Time"))
                return clock;
            if (type == boolean.class) {
                boolean value = first[0];
                first[0] = false;
                return value;
            }
            return type == int.class ? (Object) 1 : type == long.class ? (Object) 3_600_000L : null;
        });
        Method startup = Reflect.byName(LOG_MANAGER, "startup");
        Set<String> topics = Set.of(TOPIC_PARTITION.topic());
        Reflect.invoke(logManager, startup, Reflect.supply(Reflect.types(startup), type -> type == Set.class ? topics
            : type.getSimpleName().equals("Set") ? Scala.set(topics) : Reflect.proxy(type, (name, arguments) -> false)));
        cache = Reflect.construct(CACHE, type -> type == int.class ? (Object) id : (java.util.function.Supplier<Object>) () -> null);
        image = "";
        replicaManager = makeReplicaManager();
        partition = null;
        learned = null;
        up = true;
    }

    /** What is to be done at once is done at once; what is to be done later never is. */
    private static Object scheduler(Class<?> type) {
        return Reflect.proxy(type, (name, arguments) -> {
            if (name.startsWith("schedule") && arguments.length > 1 && arguments[1] instanceof Runnable) {
                boolean now = name.equals("scheduleOnce") && (arguments.length == 2 || (Long) arguments[2] == 0);
                boolean once = name.equals("schedule") && (Long) arguments[2] == 0 && (Long) arguments[3] < 0;
                if (now || once)
                    ((Runnable) arguments[1]).run();
                return NEVER;
            }
            return null;
        });
    }

    /** The broker epoch of a broker that this one takes to be alive, or null. */
    Long aliveEpoch(int other) {
        return (Long) Scala.unwrap(Reflect.call(cache, "getAliveBrokerEpoch", other));
    }

    /** What the broker has read of the brokers' registrations. */
    void see(Kafka.View view) {
        if (!image.equals(view.key)) {
            Reflect.call(cache, "setImage", Kafka.image(view));
            image = view.key;
        }
    }

    /**
     * Begin anew: the broker runs and knows of no partition. A log that is there is emptied, which costs less than to make one; unless the
     * topic's configuration, which a log reads when it is made, has changed, or records were deleted from its start: look-ups by timestamp
     * in a log of 3.5 begin where it began once, until it is made anew.
     */
    void reset(boolean reconfigured, int fetchRecords) {
        this.fetchRecords = fetchRecords;
        if (leaves)
            shutDown();
        if (!up)
            start();
        follower.lose();
        follower.stop();
        requests.reset();
        moving.reset(logManager);
        Object log = Scala.unwrap(Reflect.call(logManager, "getLog", TOPIC_PARTITION, false));
        if (log != null && (reconfigured || lookUpsBegin(log) != 0))
            deleteLog(false);
        else if (log != null)
            Reflect.call(log, "truncateTo", 0L);
        forget();
        epoch = 0;
        if (checkpoint != 0 || leftBehind)
            writeNoCheckpoint();
        proposals.clear();
    }

    private static long lookUpsBegin(Object log) {
        return (Long) Reflect.call(log, Reflect.has(log.getClass(), "localLogStartOffset") ? "localLogStartOffset" : "logStartOffset");
    }

    /** What comes in turn begins with the first. */
    void beginInOrder() {
        refusals = 0;
        requests.committed = false;
        follower.spoilings = 0;
    }

    /** Forget the partition, as if nothing had been learned since the start. */
    private void forget() {
        partition = null;
        newest = 0;
        learned = null;
        Reflect.call(Reflect.read(replicaManager, "allPartitions"), "remove", TOPIC_PARTITION);
    }

    private void writeNoCheckpoint() {
        try {
            for (File each : folders)
                Files.writeString(checkpointIn(each), "0\n0\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        checkpoint = 0;
        leftBehind = false;
    }

    private static Path checkpointIn(File folder) {
        return new File(folder, "replication-offset-checkpoint").toPath();
    }

    /** A replica that has moved has no checkpoint yet: that stays in the old directory. */
    void move() {
        moving.move();
        leftBehind = checkpoint != 0;
        checkpoint = 0;
    }

    /** The log directory that the replica, if there is one, is not in. */
    File otherFolder() {
        return folders.get(currentFolder().equals(folders.get(0)) ? 1 : 0);
    }

    private File currentFolder() {
        Object log = anyLog();
        return log == null ? folders.get(0) : new File((String) Reflect.call(log, "parentDir"));
    }

    /** Delete the log, or the copy of it that is moved. */
    void deleteLog(boolean future) {
        Method delete = Reflect.byName(LOG_MANAGER, "asyncDelete");
        for (Method each : LOG_MANAGER.getMethods())
            if (each.getName().equals("asyncDelete") && Reflect.types(each)[0] == TopicPartition.class && each.getParameterCount() > 1)
                delete = each;
        Deque<Boolean> flags = new ArrayDeque<>(List.of(future, false, false));  // it is no stray, and nothing is written
        Reflect.invoke(logManager, delete, Reflect.supply(Reflect.types(delete), type -> type == boolean.class ? (Object) flags.remove() : TOPIC_PARTITION));
        deleteFiles();
    }

    /** The kill of the process; `kept`, unless negative, is how many records survive on the disk. */
    void crash(int kept) throws IOException {
        Object log = log();
        File segment = null;
        long position = -1;
        if (log != null) {
            File dir = (File) Reflect.call(log, "dir");
            if (kept >= 0 && kept < (Long) Reflect.call(log, "logEndOffset")) {
                segment = new File(dir, "unset");
                for (File each : dir.listFiles())
                    if (each.getName().endsWith(".log"))
                        segment = each;
                position = positionOf(log, kept);
            }
            Reflect.callFirst(log, "closeHandlers", "closeQuietly");
        }
        Object copy = Scala.unwrap(Reflect.call(logManager, "getLog", TOPIC_PARTITION, true));
        if (copy != null)
            Reflect.callFirst(copy, "closeHandlers", "closeQuietly");
        if (segment != null)
            try (RandomAccessFile file = new RandomAccessFile(segment, "rw")) {
                file.setLength(position);
            }
        for (Object lock : Scala.collection(Reflect.read(logManager, "dirLocks")))
            Reflect.call(lock, "destroy");
        stop();
    }

    /** How many bytes lie before an offset. One segment holds all. */
    private static long positionOf(Object log, int offset) {
        long position = 0;
        for (Object batch : (Iterable<?>) Reflect.call(records(log), "batches"))
            if ((Long) Reflect.call(batch, "baseOffset") < offset)
                position += (Integer) Reflect.call(batch, "sizeInBytes");
        return position;
    }

    /** A shutdown in order: logs are flushed and the high watermark is written. */
    void shutDown() {
        checkpoint();
        follower.shutDown();
        Method shutdown = Reflect.byName(LOG_MANAGER, "shutdown");
        Reflect.invoke(logManager, shutdown, Reflect.supply(Reflect.types(shutdown), type -> epoch));
        stop();
    }

    /** The broker is told to shut down, and asks the controller whether it may. */
    void beginShutdown() {
        Reflect.call(replicaManager, "beginControlledShutdown");
        leaves = true;
    }

    private void stop() {
        up = false;
        leaves = false;
        partition = null;
        newest = 0;
        requests.stopped();
        logManager = null;
        follower.reset();
        moving.stopped();
    }

    void restart(long brokerEpoch, boolean requestsForgotten) {
        if (requestsForgotten)
            proposals.clear();
        epoch = brokerEpoch;
        start();
    }

    /** Write high watermarks, and read what is in the file then. */
    void checkpoint() {
        Reflect.call(replicaManager, "checkpointHighWatermarks");
        try {
            List<String> lines = Files.readAllLines(checkpointIn(currentFolder()));
            for (String line : lines)
                if (line.startsWith("t 0 "))
                    checkpoint = Long.parseLong(line.substring(4));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The partition's log, if the broker has opened it. */
    Object log() {
        return partition == null ? null : Scala.unwrap(Reflect.call(partition, "log"));
    }

    /** The partition's log, opened by the broker or merely loaded by its log manager. */
    private Object anyLog() {
        Object log = log();
        return log != null || !up ? log : Scala.unwrap(Reflect.call(logManager, "getLog", TOPIC_PARTITION, false));
    }

    /** Kafka's ReplicaManager, which makes and keeps the Partition; its threads are not started. */
    private Object makeReplicaManager() {
        Constructor<?> longest = Reflect.longest(REPLICA_MANAGER);
        Class<?>[] types = Reflect.types(longest);
        String[] names = Reflect.typeNames(longest);
        Object[] arguments = new Object[types.length];
        for (int number = 0; number < types.length; number++) {
            boolean purgatory = names[number].contains("DelayedOperationPurgatory");
            arguments[number] = purgatory ? scala.Option.apply(requests.purgatory(names[number])) : forReplicaManager(types[number]);
        }
        return Reflect.make(longest, arguments);
    }

    private Object forReplicaManager(Class<?> type) {
        switch (type.getSimpleName()) {
            case "KafkaConfig":
                return config();
            case "Metrics":
                return METRICS;
            case "Time":
                return clock;
            case "Scheduler":
                return scheduler(type);
            case "LogManager":
                return logManager;
            case "QuotaManagers":
                return quotas();
            case "MetadataCache":
                return cache;
            case "LogDirFailureChannel":
                return Reflect.construct(FAILURES, p -> 1);
            case "AlterPartitionManager":
                return Reflect.proxy(type, (name, arguments) -> name.equals("submit") ? submitted(arguments[1]) : null);
            case "BrokerTopicStats":
                return COUNTS;
            case "DirectoryEventHandler":
                return moving.assignments(type);
            case "ActionQueue":
                return Reflect.construct(Reflect.type("org.apache.kafka.server.DelayedActionQueue"), p -> null);
            case "AtomicBoolean":
                return new AtomicBoolean();
            case "Function0":
                return (scala.Function0<Object>) () -> epoch;
            case "Option":
                return scala.Option.empty();
            default:
                return Reflect.proxy(type, (name, arguments) -> null);
        }
    }

    Object quotas() {
        if (quotas == null) {
            Method instantiate = Reflect.byName(QUOTA_FACTORY, "instantiate");
            quotas = Reflect.invoke(null, instantiate, Reflect.supply(Reflect.types(instantiate), p -> {
                switch (p.getSimpleName()) {
                    case "KafkaConfig":
                    case "AbstractKafkaConfig":
                        return config();
                    case "Metrics":
                        return METRICS;
                    case "Time":
                        return clock;
                    default:
                        return "quotas " + id;
                }
            }));
        }
        return quotas;
    }

    /** The configuration of a broker with KRaft. */
    Object config() {
        if (config == null) {
            Properties given = new Properties();
            given.setProperty("process.roles", "broker");
            given.setProperty("node.id", String.valueOf(id));
            given.setProperty("controller.quorum.voters", "1000@localhost:9093");
            given.setProperty("controller.listener.names", "CONTROLLER");
            given.setProperty("listeners", "PLAINTEXT://localhost:0");
            given.setProperty("listener.security.protocol.map", "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
            given.setProperty("log.dirs", folders.get(0).getPath() + "," + folders.get(1).getPath());
            given.setProperty("replica.lag.time.max.ms", String.valueOf(Clock.LAG_MAX_MS));
            given.setProperty("replica.fetch.backoff.ms", "0");
            given.setProperty("follower.fetch.last.tiered.offset.enable", "true");  // nothing is tiered
            config = Reflect.callStatic(Reflect.type("kafka.server.KafkaConfig"), "fromProps", given);
        }
        return config;
    }

    Object replicaManager() {
        return replicaManager;
    }

    /**
     * As DefaultAlterPartitionManager#submit does, it attempts nothing while an earlier request waits; nor during a fetch, whose expansion
     * of the ISR is a step of its own: Partition then takes its proposal back.
     */
    private Object submitted(Object leaderAndIsr) {
        if (serving || !proposals.isEmpty())
            return CompletableFuture.failedFuture(new OperationNotAttemptedException("another request waits"));
        Proposal proposal = new Proposal(leaderAndIsr, epoch);
        proposals.add(proposal);
        return proposal.future;
    }

    /**
     * Learn the partition's state from the metadata log: ReplicaManager#applyDelta, with all that it does to Partition, log and fetchers.
     * After a start, the first that a broker learns may be that it has no replica; its log, if it has one, is a stray.
     */
    void learn(Kafka.State state, Kafka.View view) {
        boolean first = partition == null;
        if (first)
            Reflect.callStatic(PARTITION, "removeMetrics", TOPIC_PARTITION);
        boolean stray = learned == null && !state.replicas.contains(id) && anyLog() != null;
        Kafka.Change change = Kafka.change(learned, state, view);
        learned = change;
        recovering = state.partitionEpoch < newest ? recovering : state.recovering;
        newest = Math.max(newest, state.partitionEpoch);
        follower.prepare(state.leader);
        if (moving.ahead)
            moving.prepare();
        Reflect.call(replicaManager, "applyDelta", change.topics, change.image);
        partition = Scala.unwrap(Reflect.call(replicaManager, "onlinePartition", TOPIC_PARTITION));
        if (first && partition != null)
            listen();
        if (stray)
            deleteLog(false);
        if (!state.replicas.contains(id))
            deleteFiles();
    }

    /** Hear of the partition's high watermark, as coordinators do. Of all brokers here, its metrics are those of the broker that learned last. */
    private void listen() {
        heard = null;
        measured = this;
        Method listening = Reflect.byName(PARTITION, "maybeAddListener");
        Reflect.invoke(partition, listening, Reflect.proxy(Reflect.types(listening)[0], (name, arguments) -> {
            if (name.equals("onHighWatermarkUpdated"))
                heard = arguments[1];
            return null;
        }));
    }

    /** Whether the metrics of partitions in this process are those of this broker's. */
    boolean isMeasured() {
        return measured == this;
    }

    /** What LogManager#deleteLogs does later, in a thread of its own. */
    void deleteFiles() {
        java.util.Queue<?> later = (java.util.Queue<?>) Reflect.read(logManager, "logsToBeDeleted");
        for (Object each = later.poll(); each != null; each = later.poll())
            Reflect.call(each instanceof Map.Entry ? ((Map.Entry<?, ?>) each).getKey() : Reflect.call(each, "_1"), "delete");
    }

    /** A produce request with one batch. */
    void append(List<Integer> sent, int acks) {
        if (partition == null)
            throw new org.apache.kafka.common.errors.NotLeaderOrFollowerException("the broker knows no such partition");
        requests.append(replicaManager, sent, Kafka.batch(sent, clock.milliseconds()), acks);
    }

    /** A fetch by a follower (or a consumer, replica -1), as the leader handles it. */
    Object fetch(int replica, long brokerEpoch, long offset, long logStart, int leaderEpoch, int lastFetchedEpoch) {
        serving = true;
        try {
            int maxBytes = fetchRecords == 1 || log() == null ? 1 : Kafka.bytesOf(records(log()), offset, fetchRecords);
            return requests.fetch(replicaManager, replica, brokerEpoch, new FetchRequest.PartitionData(TOPIC_ID, offset, logStart, maxBytes,
                leaderEpoch < 0 ? Optional.empty() : Optional.of(leaderEpoch), lastFetchedEpoch < 0 ? Optional.empty() : Optional.of(lastFetchedEpoch)));
        } finally {
            serving = false;
        }
    }

    private Object replica(int other) {
        return Scala.unwrap(Reflect.call(partition, "getReplica", other));
    }

    /** What a fetch of the follower does beside: propose it for the ISR, if it may join. */
    void expandIsr(int other) {
        Object replica = replica(other);
        if (replica != null)
            Reflect.call(partition, "maybeExpandIsr", replica);
    }

    /** The check for lagging followers, at a moment when these alone have lagged for longer than replica.lag.time.max.ms. */
    void shrinkIsr(List<Integer> lagging, List<Integer> others) {
        Map<Integer, Object> before = new LinkedHashMap<>();
        for (int other : others) {
            Object replica = replica(other);
            if (replica == null)
                continue;
            before.put(other, states(replica).get());
            lastCaughtUp(other, lagging.contains(other) ? 0 : clock.milliseconds());
        }
        Reflect.call(replicaManager, "maybeShrinkIsr");
        for (Map.Entry<Integer, Object> each : before.entrySet())
            states(replica(each.getKey())).set(each.getValue());
    }

    /** Let a follower have been caught up at this moment last. */
    void lastCaughtUp(int other, long ms) {
        Object replica = replica(other);
        if (replica == null)
            return;
        Object state = states(replica).get();
        String[] longs = {"logStartOffset", "lastFetchLeaderLogEndOffset", "lastFetchTimeMs", "lastCaughtUpTimeMs"};
        int[] used = {0};
        states(replica).set(Reflect.construct(REPLICA_STATE, type -> {
            if (type == long.class) {
                String name = longs[used[0]++];
                return name.equals("lastCaughtUpTimeMs") ? (Object) ms : Reflect.call(state, name);
            }
            return Reflect.call(state, type.getSimpleName().equals("LogOffsetMetadata") ? "logEndOffsetMetadata" : "brokerEpoch");
        }));
    }

    @SuppressWarnings("unchecked")
    private static AtomicReference<Object> states(Object replica) {
        for (Field field : replica.getClass().getDeclaredFields())
            if (AtomicReference.class.isAssignableFrom(field.getType())) {
                field.setAccessible(true);
                try {
                    return (AtomicReference<Object>) field.get(replica);
                } catch (IllegalAccessException e) {
                    throw new Reflect.Missing("field " + field + ": " + e.getMessage());
                }
            }
        throw new Reflect.Missing("no replicaState in " + replica.getClass().getName());
    }

    /** The controller has granted the oldest request. */
    void granted(int leaderEpoch, int partitionEpoch, List<Integer> isr) {
        if (proposals.isEmpty())
            return;
        Object sent = proposals.getFirst().leaderAndIsr;
        List<Object> members = new ArrayList<>();
        for (Object each : Scala.collection(Reflect.call(sent, "isrWithBrokerEpoch")))
            if (isr.contains(((Number) Reflect.call(each, "brokerId")).intValue()))
                members.add(each);
        int[] ints = {id, leaderEpoch, partitionEpoch};
        int[] used = {0};
        Constructor<?> constructor = Reflect.longest(sent.getClass(), "BrokerState");
        Object answer = Reflect.make(constructor, Reflect.supply(Reflect.types(constructor), type -> {
            if (type == int.class)
                return ints[used[0]++];
            if (type.getSimpleName().equals("LeaderRecoveryState"))
                return Reflect.enumOf(type, "RECOVERED");
            return type == List.class ? members : Scala.list(members);
        }));
        proposals.removeFirst().future.complete(answer);
    }

    /** The controller has refused the oldest request with its error; or with one of these in turn, which must make no difference. */
    void refused(JsonNode errors) {
        if (proposals.isEmpty())
            return;
        Proposal proposal = proposals.removeFirst();
        String error = errors.isEmpty() ? proposal.answered : errors.get(refusals++ % errors.size()).asText();
        proposal.future.completeExceptionally(Errors.valueOf(error).exception());
    }

    /** DeleteRecords: the log starts at the offset, which the request names the high watermark if it is that. */
    void deleteRecordsBelow(long offset) {
        boolean all = offset == (Long) Reflect.call(log(), "highWatermark");
        requests.deleteRecords(replicaManager, all ? DeleteRecordsRequest.HIGH_WATERMARK : offset, offset);
    }

    static Object records(Object log) {
        Object isolation = Reflect.enumOf(Reflect.types(Reflect.method(log.getClass(), "read", 4))[2], "LOG_END");
        return Reflect.get(Reflect.call(log, "read", Reflect.call(log, "logStartOffset"), Integer.MAX_VALUE, isolation, true), "records");
    }

    /** What goes on beside the steps of a run. */
    void goOn() {
        moving.copy();
    }

    /** What its answers depend on, beside what is shown. */
    Object hidden() {
        return Arrays.asList(image, epoch, isMeasured(), leaves, moving.copied());
    }

    /** What the partition answers to questions that change nothing. */
    Map<String, Object> questions() {
        return partition == null ? Map.of() : Map.of("questions", Questions.of(this));
    }

    /** What can be seen of the broker. */
    Map<String, Object> state() {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("up", up);
        seen.put("checkpoint", checkpoint);
        Object log = anyLog();
        if (log != null) {
            seen.put("hw", log() == null ? null : Reflect.call(log, "highWatermark"));
            seen.put("leo", Reflect.call(log, "logEndOffset"));
            seen.put("start", Reflect.call(log, "logStartOffset"));
            List<Object> read = new ArrayList<>();
            for (long[] each : Kafka.read(records(log)))
                read.add(List.of(each[0], each[1], each[2]));
            seen.put("log", read);
            List<Object> epochs = new ArrayList<>();
            Object epochCache = Scala.unwrap(Reflect.call(log, "leaderEpochCache"));
            for (Object each : Scala.collection(Reflect.call(epochCache, "epochEntries")))
                epochs.add(List.of(Reflect.get(each, "epoch"), Reflect.get(each, "startOffset")));
            seen.put("epochs", epochs);
        }
        if (partition != null) {
            ofPartition(seen);
            seen.put("heard", heard);
            seen.put("newest", newest);
            seen.put("recovering", recovering);
        }
        seen.put("fetch", follower.shown());
        seen.put("answers", requests.answers());
        seen.put("deletions", requests.deletions());
        ofConsumer(seen);
        return seen;
    }

    /** What a consumer has read that has waited since the broker was looked at last; and then the next one waits. */
    private void ofConsumer(Map<String, Object> seen) {
        boolean waits = log() != null;
        seen.put("consumer", waits ? requests.consumer() : null);
        if (waits)
            requests.consume(replicaManager, (Long) Reflect.call(log(), "highWatermark"), (Integer) Reflect.call(partition, "getLeaderEpoch"), log());
    }

    private void ofPartition(Map<String, Object> seen) {
        Object leader = Scala.unwrap(Reflect.call(partition, "leaderReplicaIdOpt"));
        seen.put("leader", leader);
        seen.put("leaderEpoch", Reflect.call(partition, "getLeaderEpoch"));
        seen.put("partitionEpoch", Reflect.call(partition, "getPartitionEpoch"));
        if (!Integer.valueOf(id).equals(leader))
            return;
        Object state = Reflect.call(partition, "partitionState");
        seen.put("isr", Scala.ids(Reflect.call(state, "isr")));
        seen.put("maximalIsr", Scala.ids(Reflect.call(state, "maximalIsr")));
        boolean inflight = (Boolean) Reflect.call(state, "isInflight");
        seen.put("proposed", inflight ? Scala.ids(Reflect.call(Reflect.call(state, "sentLeaderAndIsr"), "isr")) : null);
        seen.put("replicas", Scala.ids(Reflect.call(Reflect.call(partition, "assignmentState"), "replicas")));
        seen.put("epochStart", Scala.unwrap(Reflect.call(partition, "leaderEpochStartOffsetOpt")));
        Map<String, Object> followers = new LinkedHashMap<>();
        List<Object> dead = new ArrayList<>();
        for (Object each : Scala.collection(Reflect.call(partition, "remoteReplicas"))) {
            Object known = Reflect.call(each, "stateSnapshot");
            Object brokerEpoch = Scala.unwrap(Reflect.call(known, "brokerEpoch"));
            boolean recent = clock.milliseconds() - (Long) Reflect.call(known, "lastCaughtUpTimeMs") <= Clock.LAG_MAX_MS;
            int follower = (Integer) Reflect.call(each, "brokerId");
            if (aliveEpoch(follower) == null)
                dead.add(String.valueOf(follower));
            followers.put(String.valueOf(follower),
                List.of(Reflect.call(known, "logEndOffset"), recent, brokerEpoch == null ? -1 : brokerEpoch, Reflect.call(known, "logStartOffset")));
        }
        seen.put("followers", followers);
        seen.put("dead", dead);
        List<Object> requests = new ArrayList<>();
        for (Proposal each : proposals)
            requests.add(shown(each.leaderAndIsr));
        seen.put("requests", requests);
    }

    private static Map<String, Object> shown(Object leaderAndIsr) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("leaderEpoch", Reflect.call(leaderAndIsr, "leaderEpoch"));
        shown.put("partitionEpoch", Reflect.call(leaderAndIsr, "partitionEpoch"));
        Map<String, Object> members = new LinkedHashMap<>();
        for (Object each : Scala.collection(Reflect.call(leaderAndIsr, "isrWithBrokerEpoch")))
            members.put(String.valueOf(Reflect.call(each, "brokerId")), Reflect.call(each, "brokerEpoch"));
        shown.put("isr", members);
        shown.put("recovering", (Byte) Reflect.call(Reflect.call(leaderAndIsr, "leaderRecoveryState"), "value") == 1);
        return shown;
    }
}
