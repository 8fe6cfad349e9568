import java.io.File;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.message.AddRaftVoterRequestData;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchSnapshotResponseData;
import org.apache.kafka.common.message.RemoveRaftVoterRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.raft.MemoryLog;
import org.apache.kafka.server.common.KRaftVersion;
import org.apache.kafka.server.common.serialization.RecordSerde;

/** A replica of the metadata log: its log, Kafka's own on disk or one in memory, and Kafka's KafkaRaftClient while its process runs. */
final class WalkedReplica {
    private static final String RAFT = "org.apache.kafka.raft.";
    private static final ListenerName LISTENER = ListenerName.normalised("CONTROLLER");
    private static final int FIRST_PORT = 9_000, REQUEST_MS = 500, LONGEST_WAIT_MS = 10_000, MOST_BYTES = 8 << 20;
    private static final Class<?> INBOUND = Reflect.type(RAFT + "RaftRequest$Inbound"), ANSWER = Reflect.type(RAFT + "RaftResponse$Inbound");
    private static final Class<?> LOG_CONTEXT = Reflect.type("org.apache.kafka.common.utils.internals.LogContext", "org.apache.kafka.common.utils.LogContext");
    private static final Class<?> OFFSET_AND_EPOCH = Reflect.type(RAFT + "OffsetAndEpoch", "org.apache.kafka.server.common.OffsetAndEpoch");
    private static final Object UNCOMMITTED = Reflect.enumOf(Reflect.type(RAFT + "Isolation"), "UNCOMMITTED");
    private static final SupportedVersionRange KRAFT_VERSIONS = new SupportedVersionRange((short) 0, (short) 1);
    /** Since 4.4 `send` returns the answer, and before a request carries it. */
    private static final boolean SENDING_ANSWERS = Reflect.byName(Reflect.type(RAFT + "NetworkChannel"), "send").getReturnType() != void.class;
    private static final boolean HAS_OPTIONAL_KEY = WalkedController.has(Reflect.type(RAFT + "ElectionState"), "optionalVotedKey");
    /** Shared, since each batch takes 8 MiB. */
    private static final Object POOL = Reflect.make(Reflect.longest(Reflect.type(RAFT + "internals.BatchMemoryPool")), 16, MOST_BYTES);

    private static final ClassValue<String> WORDS = new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> data) {
            return data.getSimpleName().replaceAll("(Request|Response)Data$", "").replaceAll("(?<=[a-z])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
        }
    };
    private static final ClassValue<String> ROLES = new ClassValue<>() {
        @Override
        protected String computeValue(Class<?> state) {
            return state.getSimpleName().replace("State", "");
        }
    };

    /** A request or an answer on its way. */
    static final class Message {
        final WalkedReplica from, to;
        private final int correlation;
        private final ApiMessage data;
        private final boolean answer;
        /** Whom the sender of the request takes it to be for: bootstrap servers have ids below zero. */
        private final Node asked;
        private final CompletableFuture<Object> completion;
        private final String word;

        Message(WalkedReplica from, WalkedReplica to, int correlation, ApiMessage data, boolean answer, Node asked, CompletableFuture<Object> completion) {
            this.from = from;
            this.to = to;
            this.correlation = correlation;
            this.data = data;
            this.answer = answer;
            this.asked = asked;
            this.completion = completion;
            word = WORDS.get(data.getClass()) + (answer ? " answer" : "");
        }

        /** An answer tells where the leader is that it names, if its sender knows that. */
        boolean tellsNoEndpoints() {
            return answer && !(data instanceof ApiVersionsResponseData) && ((Collection<?>) Reflect.call(data, "nodeEndpoints")).isEmpty();
        }

        /** The word by which steps name it: "begin quorum epoch answer". */
        String word() {
            return word;
        }
    }

    /** Records are numbers. */
    static final class Numbers implements RecordSerde<Integer> {
        @Override
        public int recordSize(Integer number, ObjectSerializationCache cache) {
            return Integer.BYTES;
        }

        @Override
        public void write(Integer number, ObjectSerializationCache cache, Writable out) {
            out.writeInt(number);
        }

        @Override
        public Integer read(Readable in, int size) {
            return in.readInt();
        }
    }

    final int id;
    private final QuorumRun quorum;
    /** Where its log is; null if that is in memory. */
    private final File folder;
    private final Random random;
    private final Clock clock = new Clock();
    private final Uuid directory;
    private Object stored;
    private Object log, client, queue;
    /** How long the client would wait for a message. */
    private long waits;
    private Set<CompletableFuture<Object>> awaited = new HashSet<>();
    private final TreeMap<Long, List<CompletableFuture<Object>>> expiring = new TreeMap<>();
    /** What its listener was given: offset, epoch (-1 from a snapshot) and number. */
    final List<int[]> read = new ArrayList<>();
    int incarnation;
    /** Whether it started with a vote for itself in an epoch in which, as it had stored, another one led. */
    boolean standsAgain;

    WalkedReplica(QuorumRun quorum, int id, File folder, long seed) {
        this.quorum = quorum;
        this.id = id;
        this.folder = folder;
        random = Chance.of(seed * QuorumRun.REPLICAS + id);
        directory = new Uuid(2, 1 + id);
    }

    boolean runs() {
        return client != null;
    }

    // ---- its process

    void start() {
        incarnation++;
        clock.advance(1);
        boolean first = log == null;
        standsAgain = storedVote() == id && (Boolean) Reflect.call(stored, "hasLeader") && (Integer) Reflect.call(stored, "leaderId") != id;
        log = openLog();
        if (first && quorum.reconfigurable && id < QuorumRun.VOTERS)
            writeBootstrap();
        queue = Reflect.make(Reflect.longest(Reflect.type(RAFT + "internals.BlockingMessageQueue")));
        read.clear();
        client = Reflect.construct(Reflect.type(RAFT + "KafkaRaftClient"), byType(OptionalInt.of(id), directory, new Numbers(), channel(), messages(), log, POOL, clock,
            Reflect.proxy(Reflect.type(RAFT + "ExpirationService"), this::expire), 100, quorum.isController(id), "walk", addresses(quorum.reconfigurable).values(), endpoints(id), KRAFT_VERSIONS,
            Reflect.make(Reflect.constructor(LOG_CONTEXT, String.class), ""), random, config()));
        try {
            initialize();
        } catch (RuntimeException | Error thrown) {
            client = null;  // whose state is not there yet
            throw thrown;
        }
        poll();
    }

    private void initialize() {
        Reflect.call(client, "register", Reflect.proxy(Reflect.type(RAFT + "RaftClient$Listener"), this::hear));
        Reflect.invoke(client, Reflect.byName(client.getClass(), "initialize"), Reflect.supply(Reflect.byName(client.getClass(), "initialize").getParameterTypes(),
            type -> type == Map.class ? addresses(!quorum.reconfigurable) : type == Metrics.class ? new Metrics(clock)
                : type.getSimpleName().equals("QuorumStateStore") ? Reflect.proxy(type, this::store) : Reflect.proxy(type, (name, arguments) -> null)));
    }

    /** The first value of each type; a value serves any number of parameters. */
    static Function<Class<?>, Object> byType(Object... values) {
        return type -> {
            for (Object each : values)
                if (type.isInstance(each) || type == int.class && each instanceof Integer || type == boolean.class && each instanceof Boolean
                    || type == short.class && each instanceof Short || type == long.class && each instanceof Long)
                    return each;
            throw new Reflect.Missing("a value of " + type);
        };
    }

    private static Object config() {
        Map<String, Object> settings = Map.of("controller.quorum.election.timeout.ms", 1_000, "controller.quorum.fetch.timeout.ms", 2_000,
            "controller.quorum.request.timeout.ms", REQUEST_MS, "controller.quorum.election.backoff.max.ms", 100, "controller.quorum.retry.backoff.ms", 20,
            "controller.quorum.append.linger.ms", 0);
        return configured(Reflect.type(RAFT + "QuorumConfig"), settings);
    }

    static Object configured(Class<?> type, Map<String, Object> settings) {
        return Reflect.make(Reflect.constructor(type, AbstractConfig.class), new AbstractConfig((ConfigDef) Reflect.constant(type, "CONFIG_DEF"), settings, false));
    }

    /** Where voters are; nowhere, if that is configured in another way. */
    private static Map<Integer, InetSocketAddress> addresses(boolean wanted) {
        Map<Integer, InetSocketAddress> addresses = new LinkedHashMap<>();
        for (int each = 0; wanted && each < QuorumRun.VOTERS; each++)
            addresses.put(each, address(each));
        return addresses;
    }

    private static InetSocketAddress address(int id) {
        return InetSocketAddress.createUnresolved("r" + id, FIRST_PORT + id);
    }

    private static Object endpoints(int id) {
        return Reflect.callStatic(Reflect.type(RAFT + "Endpoints"), "fromInetSocketAddresses", Map.of(LISTENER, address(id)));
    }

    /** Its machine loses power: a log in memory loses what was not flushed, and one on disk nothing, since the walk's machine goes on. */
    void losePower() {
        kill();
        if (log instanceof MemoryLog)
            ((MemoryLog) log).losePower();
    }

    /** Its process ends at once. What it has sent is still on its way. */
    void kill() {
        client = null;
        expiring.clear();
        awaited = new HashSet<>();
        Reflect.call(log, "close");
    }

    /** Turns of the client's loop until nothing waits in its queue. One that has shut down leaves its queue as it is. */
    void poll() {
        Object polled = client;
        int before = quorum.messages.size();
        do
            Reflect.call(polled, "poll");
        while (isRunning() && !(Boolean) Reflect.call(queue, "isEmpty"));
        // the client goes through sets of voters, whose order is not the same in each Java process
        quorum.messages.subList(before, quorum.messages.size()).sort(Comparator.comparing((Message each) -> each.to.id).thenComparing(Message::word));
    }

    private boolean isRunning() {
        return (Boolean) Reflect.call(client, "isRunning");
    }

    /** Its process ends if its client has shut down. */
    void endIfShutDown() {
        if (runs() && !isRunning())
            kill();
    }

    void pass(long ms) {
        clock.advance(ms);
        while (!expiring.isEmpty() && expiring.firstKey() <= clock.milliseconds())
            expiring.pollFirstEntry().getValue().forEach(each -> each.completeExceptionally(new TimeoutException()));
        poll();
    }

    void passToTimer() {
        long next = expiring.isEmpty() ? waits : Math.min(waits, expiring.firstKey() - clock.milliseconds());
        pass(Math.max(1, Math.min(next, LONGEST_WAIT_MS)));
    }

    // ---- what it is asked

    void append(int number) {
        Reflect.call(client, "prepareAppend", epoch(), List.of(number));
        Reflect.call(client, "schedulePreparedAppend");
        poll();
    }

    void resign() {
        Reflect.call(client, "resign", epoch());
        poll();
    }

    void shutDown() {
        Reflect.call(client, "shutdown", REQUEST_MS);
        poll();
    }

    void addVoter(WalkedReplica voter) {
        AddRaftVoterRequestData data = new AddRaftVoterRequestData().setClusterId("walk").setTimeoutMs(REQUEST_MS).setVoterId(voter.id).setVoterDirectoryId(voter.directory);
        ControllerRun.add(data.listeners(), new AddRaftVoterRequestData.Listener().setName(LISTENER.value()).setHost("r" + voter.id).setPort(FIRST_PORT + voter.id));
        handle(quorum.correlation(), data, answer -> { });
        poll();
    }

    void removeVoter(WalkedReplica voter) {
        handle(quorum.correlation(), new RemoveRaftVoterRequestData().setClusterId("walk").setVoterId(voter.id).setVoterDirectoryId(voter.directory), answer -> { });
        poll();
    }

    /** Write a snapshot of what its listener has read, and delete the log before it. */
    boolean snapshot() {
        if (highWatermark() < 0 || read.isEmpty() || read.get(read.size() - 1)[1] < 0)
            return false;
        int[] last = read.get(read.size() - 1);
        Object end = Reflect.make(Reflect.constructor(OFFSET_AND_EPOCH, long.class, int.class), last[0] + 1L, last[1]);
        Optional<?> writer = (Optional<?>) Reflect.call(client, "createSnapshot", end, 0L);
        if (writer.isEmpty())
            return false;
        List<Integer> numbers = new ArrayList<>();
        read.forEach(each -> numbers.add(each[2]));
        Reflect.call(writer.get(), "append", numbers);
        freeze(writer.get());
        Reflect.call(log, "deleteBeforeSnapshot", end);
        poll();
        return true;
    }

    static void freeze(Object writer) {
        Reflect.call(writer, "freeze");
        Reflect.call(writer, "close");
    }

    // ---- messages

    private Object channel() {
        return Reflect.proxy(Reflect.type(RAFT + "NetworkChannel"), (name, arguments) ->
            name.equals("newCorrelationId") ? (Object) quorum.correlation() : name.equals("listenerName") ? LISTENER : name.equals("send") ? send(arguments[0]) : null);
    }

    @SuppressWarnings("unchecked")
    private Object send(Object request) {
        Node asked = (Node) Reflect.call(request, "destination");
        CompletableFuture<Object> completion = SENDING_ANSWERS ? new CompletableFuture<>() : (CompletableFuture<Object>) Reflect.get(request, "completion");
        awaited.add(completion);
        quorum.messages.add(new Message(this, quorum.replicas.get(asked.port() - FIRST_PORT), (Integer) Reflect.call(request, "correlationId"),
            (ApiMessage) Reflect.call(request, "data"), false, asked, completion));
        return SENDING_ANSWERS ? completion : null;
    }

    void receive(Message message) {
        if (message.answer) {
            if (awaited.remove(message.completion))
                message.completion.complete(Reflect.construct(ANSWER, byType(message.correlation, message.data, message.asked)));
        } else if (message.data instanceof ApiVersionsRequestData) {
            answer(message, versions());
        } else {
            handle(message.correlation, message.data, data -> answer(message, inMemory(data)));
        }
        poll();
    }

    /** Not KafkaRaftClient answers this one, but the server that it is in. */
    private static ApiMessage versions() {
        ApiVersionsResponseData versions = new ApiVersionsResponseData();
        ControllerRun.add(versions.supportedFeatures(), new ApiVersionsResponseData.SupportedFeatureKey().setName("kraft.version").setMinVersion((short) 0).setMaxVersion((short) 1));
        return versions;
    }

    private void answer(Message request, ApiMessage data) {
        quorum.messages.add(new Message(this, request.from, request.correlation, data, true, request.asked, request.completion));
    }

    @SuppressWarnings("unchecked")
    private void handle(int correlation, ApiMessage data, Consumer<ApiMessage> then) {
        Object request = Reflect.construct(INBOUND, byType(LISTENER, correlation, data.highestSupportedVersion(), data, clock.milliseconds()));
        Object handler = client, handled = Reflect.call(client, "handle", request);
        CompletionStage<Object> answer = (CompletionStage<Object>) (SENDING_ANSWERS ? handled : Reflect.get(request, "completion"));
        answer.whenComplete((response, thrown) -> {
            if (response != null && client == handler)
                then.accept((ApiMessage) Reflect.call(response, "data"));
        });
    }

    /** An answer with a copy of its records: those of a file may change meanwhile, and over a network they come in memory. */
    private static ApiMessage inMemory(ApiMessage data) {
        if (data instanceof FetchResponseData)
            ((FetchResponseData) data).responses().forEach(topic -> topic.partitions().forEach(each -> {
                if (DiskLog.isOnDisk(each.records()))
                    Reflect.call(each, "setRecords", Reflect.callStatic(records("MemoryRecords"), "readableRecords", DiskLog.copied(each.records())));
            }));
        if (data instanceof FetchSnapshotResponseData)
            ((FetchSnapshotResponseData) data).topics().forEach(topic -> topic.partitions().forEach(each -> {
                if (DiskLog.isOnDisk(each.unalignedRecords()))
                    Reflect.call(each, "setUnalignedRecords", Reflect.make(Reflect.longest(records("UnalignedMemoryRecords")), DiskLog.copied(each.unalignedRecords())));
            }));
        return data;
    }

    private static Class<?> records(String name) {
        return Reflect.type("org.apache.kafka.common.record.internal." + name, "org.apache.kafka.common.record." + name);
    }

    // ---- what the client asks of its surroundings

    /** Kafka's own queue, but nobody waits at it. */
    private Object messages() {
        Object real = queue;
        return Reflect.proxy(Reflect.type(RAFT + "RaftMessageQueue"), (name, arguments) -> {
            if (!name.equals("poll"))
                return Reflect.call(real, name, arguments);
            waits = (Long) arguments[0];
            return Reflect.call(real, "poll", 0L);
        });
    }

    private Object expire(String name, Object[] arguments) {
        CompletableFuture<Object> future = new CompletableFuture<>();
        expiring.computeIfAbsent(clock.milliseconds() + (Long) arguments[0], due -> new ArrayList<>()).add(future);
        return future;
    }

    private Object store(String name, Object[] arguments) {
        if (name.equals("readElectionState"))
            return Optional.ofNullable(stored);
        if (name.equals("writeElectionState"))
            stored = arguments[0];
        if (name.equals("clear"))
            stored = null;
        return null;
    }

    private Object hear(String name, Object[] arguments) {
        if (!name.equals("handleCommit") && !name.equals("handleLoadSnapshot"))
            return null;
        boolean snapshot = name.equals("handleLoadSnapshot");
        if (snapshot)
            read.clear();
        Object reader = arguments[0];
        while ((Boolean) Reflect.call(reader, "hasNext")) {
            Object batch = Reflect.call(reader, "next");
            int offset = ((Long) Reflect.call(batch, "baseOffset")).intValue(), epoch = (Integer) Reflect.call(batch, "epoch");
            for (Object number : (List<?>) Reflect.call(batch, "records"))
                read.add(new int[] {offset++, snapshot ? -1 : epoch, (Integer) number});
        }
        Reflect.call(reader, "close");
        return null;
    }

    // ---- its log

    private Object openLog() {
        if (folder != null)
            return DiskLog.open(new File(folder, "r" + id + "/" + DiskLog.TOPIC), clock, id);
        if (log == null)
            return new MemoryLog(DiskLog.TOPIC, DiskLog.TOPIC_ID, quorum.isFrom("4.0"));
        ((MemoryLog) log).open();
        return log;
    }

    /** What formatting the directory of a voter writes: the version of KRaft and the voters. */
    private void writeBootstrap() {
        Object none = Reflect.constant(Reflect.type("org.apache.kafka.snapshot.Snapshots"), "BOOTSTRAP_SNAPSHOT_ID");
        Object raw = ((Optional<?>) Reflect.call(log, "createNewSnapshotUnchecked", none)).get();
        Object builder = Reflect.make(Reflect.longest(Reflect.type("org.apache.kafka.snapshot.RecordsSnapshotWriter$Builder")));
        Reflect.call(builder, "setRawSnapshotWriter", raw);
        Reflect.call(builder, "setKraftVersion", KRaftVersion.KRAFT_VERSION_1);
        Reflect.call(builder, "setVoterSet", Optional.of(voterSet()));
        freeze(Reflect.call(builder, "build", new Numbers()));
    }

    private Object voterSet() {
        Map<Integer, Object> voters = new LinkedHashMap<>();
        for (int each = 0; each < QuorumRun.VOTERS; each++)
            voters.put(each, Reflect.callStatic(Reflect.type(RAFT + "VoterSet$VoterNode"), "of",
                Reflect.callStatic(Reflect.type(RAFT + "ReplicaKey"), "of", each, quorum.replicas.get(each).directory), endpoints(each), KRAFT_VERSIONS));
        return Reflect.callStatic(Reflect.type(RAFT + "VoterSet"), "fromMap", voters);
    }

    // ---- what is seen

    private Object state() {
        return Reflect.call(client, "quorum");
    }

    int epoch() {
        return (Integer) Reflect.call(state(), "epoch");
    }

    OptionalInt leader() {
        return (OptionalInt) Reflect.call(state(), "leaderId");
    }

    /** Leader, Follower, Candidate, Prospective (since 4.0), Unattached or Resigned; Down if its process does not run. */
    String role() {
        return runs() ? ROLES.get(Reflect.read(state(), "state").getClass()) : "Down";
    }

    boolean leads() {
        return runs() && role().equals("Leader");
    }

    int storedEpoch() {
        return stored == null ? 0 : (Integer) Reflect.call(stored, "epoch");
    }

    /** For whom it has voted in the epoch that it has stored; -1 for nobody. */
    int storedVote() {
        if (stored == null)
            return -1;
        Object key = HAS_OPTIONAL_KEY ? Reflect.call(stored, "optionalVotedKey") : Reflect.read(stored, "votedKey");
        return ((Optional<?>) key).map(each -> (Integer) Reflect.call(each, "id")).orElse(-1);
    }

    int highWatermark() {
        return (int) ((OptionalLong) Reflect.call(client, "highWatermark")).orElse(-1);
    }

    int logStart() {
        return ((Long) Reflect.call(log, "startOffset")).intValue();
    }

    int end() {
        return ((Long) Reflect.call(Reflect.call(log, "endOffset"), "offset")).intValue();
    }

    /** The end of its newest snapshot; -1 without one. */
    int snapshotEnd() {
        return ((Optional<?>) Reflect.call(log, "latestSnapshotId")).map(each -> ((Long) Reflect.call(each, "offset")).intValue()).orElse(-1);
    }

    /** Whether the last epoch that its log knows is a later one than that of its newest snapshot. */
    boolean endsLaterThanItsSnapshot() {
        try {
            return snapshotEnd() >= 0 && (Integer) Reflect.call(log, "lastFetchedEpoch") > snapshotEpoch();
        } catch (RuntimeException none) {
            return false;
        }
    }

    /** The epoch of the last record in its log, or that of its newest snapshot if there is none. */
    int lastEpoch() {
        return end() > logStart() ? epochs(end() - 1).get(0) : snapshotEpoch();
    }

    private int snapshotEpoch() {
        return ((Optional<?>) Reflect.call(log, "latestSnapshotId")).map(each -> (Integer) Reflect.call(each, "epoch")).orElse(0);
    }

    /** Whether it is a voter by its own log. */
    boolean votes() {
        return voters().contains(id);
    }

    Set<Integer> voters() {
        Set<Integer> voters = new TreeSet<>();
        for (Object each : (Set<?>) Reflect.call(Reflect.call(partitionState(), "lastVoterSet"), "voterIds"))
            voters.add((Integer) each);
        return voters;
    }

    /** Whether what knows the voters has read records that are in the log no more. */
    boolean hasReadBeyondItsLog() {
        return (Long) Reflect.read(partitionState(), "nextOffset") > end();
    }

    private Object partitionState() {
        return Reflect.read(state(), "partitionState");
    }

    /** The epochs of the records from an offset to the log's end. */
    List<Integer> epochs(int from) {
        List<Integer> epochs = new ArrayList<>();
        for (int end = end(); from + epochs.size() < end; ) {
            int before = epochs.size();
            long at = from + before;
            java.lang.reflect.Method reading = Reflect.byName(log.getClass(), "read");
            Object found = Reflect.invoke(log, reading, reading.getParameterCount() == 2 ? new Object[] {at, UNCOMMITTED} : new Object[] {at, UNCOMMITTED, MOST_BYTES});
            for (Object batch : (Iterable<?>) Reflect.call(Reflect.get(found, "records"), "batches"))
                for (long last = (Long) Reflect.call(batch, "lastOffset"); from + epochs.size() <= last; )
                    epochs.add((Integer) Reflect.call(batch, "partitionLeaderEpoch"));
            if (epochs.size() == before)
                throw new IllegalStateException("r" + id + " reads nothing at " + at);
        }
        return epochs;
    }

    String shown() {
        return !runs() ? "down" : role().toLowerCase(Locale.ROOT) + " in epoch " + epoch() + (leader().isPresent() ? ", led by r" + leader().getAsInt() : "") + ", high watermark " + highWatermark()
            + ", log " + logStart() + ".." + end() + (quorum.reconfigurable ? ", voters " + voters() : "");
    }
}
