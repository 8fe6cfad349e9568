import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.security.auth.KafkaPrincipal;

/** What releases of Kafka spell differently: metadata images, records, fetch parameters. */
final class Kafka {
    private static final int CHANGES_KEPT = 10_000;
    private static final Map<String, Object> IMAGES = new HashMap<>();
    private static final Map<String, Change> CHANGES = new HashMap<>();
    private static final Map<Class<?>, Method> REPLAYS = new HashMap<>();
    private static final Class<?> IMAGE = Reflect.type("org.apache.kafka.image.MetadataImage");
    private static final Class<?> METADATA_VERSION = Reflect.type("org.apache.kafka.server.common.MetadataVersion");
    static final Class<?> RECORDS = Reflect.type("org.apache.kafka.common.record.MemoryRecords", "org.apache.kafka.common.record.internal.MemoryRecords");
    private static final Class<?> SIMPLE = Reflect.type("org.apache.kafka.common.record.SimpleRecord", "org.apache.kafka.common.record.internal.SimpleRecord");

    private static final Method WITH_RECORDS = withRecords();
    private static final Object NO_COMPRESSION = Reflect.constant(WITH_RECORDS.getParameterTypes()[0], "NONE");
    private static final Object NEWEST = newestVersion();

    /** Who may read from a follower, too: only leaders answer a consumer that does not say where it is (KIP-392). */
    static final ClientMetadata CONSUMER = new ClientMetadata.DefaultClientMetadata(
        "", "consumer", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, "PLAINTEXT");

    private Kafka() { }

    /** One broker as a metadata image has it. */
    static final class Registration {
        final int id;
        final long epoch;
        final boolean fenced;
        final boolean shuttingDown;

        Registration(int id, long epoch, boolean fenced, boolean shuttingDown) {
            this.id = id;
            this.epoch = epoch;
            this.fenced = fenced;
            this.shuttingDown = shuttingDown;
        }
    }

    /** The partition, as a record of the metadata log has it. */
    static final class State {
        final int leader;
        final int leaderEpoch;
        final int partitionEpoch;
        final List<Integer> isr;
        final List<Integer> replicas;
        final List<Integer> adding;
        final List<Integer> removing;
        final boolean recovering;

        State(int leader, int leaderEpoch, int partitionEpoch, List<Integer> isr, List<Integer> replicas, List<Integer> adding,
              List<Integer> removing, boolean recovering) {
            this.leader = leader;
            this.leaderEpoch = leaderEpoch;
            this.partitionEpoch = partitionEpoch;
            this.isr = isr;
            this.replicas = replicas;
            this.adding = adding;
            this.removing = removing;
            this.recovering = recovering;
        }

        @Override
        public String toString() {
            return leader + " " + leaderEpoch + " " + partitionEpoch + " " + isr + " " + replicas + " " + adding + " " + removing + " " + recovering;
        }
    }

    /** What brokers are told of each other, and its text, which stands for it. */
    static final class View {
        final String key;
        final List<Registration> brokers;

        View(String key, List<Registration> brokers) {
            this.key = key;
            this.brokers = brokers;
        }
    }

    /** A metadata image with the partition, and what has changed since the image before. */
    static final class Change {
        final Object topics;
        final Object image;
        private final String content;

        private Change(Object topics, Object image, String content) {
            this.topics = topics;
            this.image = image;
            this.content = content;
        }
    }

    /** The metadata image with these registrations. */
    static Object image(View view) {
        return IMAGES.computeIfAbsent(view.key, key -> applied(deltaWith(Reflect.constant(IMAGE, "EMPTY"), view.brokers)));
    }

    /** The next image after `before`, or the first one if that is null. Images are made from the records that a snapshot would have. */
    static Change change(Change before, State state, View view) {
        String content = view.key + " " + state;
        if (CHANGES.size() > CHANGES_KEPT)
            CHANGES.clear();
        return CHANGES.computeIfAbsent((before == null ? "" : before.content) + " > " + content, k -> {
            Object delta = deltaWith(before == null ? Reflect.constant(IMAGE, "EMPTY") : before.image, view.brokers);
            if (before == null) {
                replay(delta, record("FeatureLevelRecord", "setName", "metadata.version", "setFeatureLevel", featureLevel()));
                replay(delta, record("TopicRecord", "setName", Broker.TOPIC_PARTITION.topic(), "setTopicId", Broker.TOPIC_ID));
            }
            replay(delta, record("PartitionRecord", "setPartitionId", 0, "setTopicId", Broker.TOPIC_ID, "setReplicas", state.replicas, "setAddingReplicas", state.adding,
                "setRemovingReplicas", state.removing, "setLeaderRecoveryState", (byte) (state.recovering ? 1 : 0),
                "setIsr", state.isr, "setLeader", state.leader, "setLeaderEpoch", state.leaderEpoch, "setPartitionEpoch", state.partitionEpoch));
            return new Change(Reflect.call(delta, "topicsDelta"), applied(delta), content);
        });
    }

    static Object deltaWith(Object before, List<Registration> brokers) {
        Class<?> type = Reflect.type("org.apache.kafka.image.MetadataDelta");
        Object delta;
        Constructor<?> plain = Reflect.constructor(type, IMAGE);
        if (plain != null)
            delta = Reflect.make(plain, before);
        else {
            Object builder = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.image.MetadataDelta$Builder")));
            Reflect.call(builder, "setImage", before);
            delta = Reflect.call(builder, "build");
        }
        for (Registration each : brokers) {
            Object record = record("RegisterBrokerRecord", "setBrokerId", each.id, "setBrokerEpoch", each.epoch,
                "setIncarnationId", new Uuid(1, each.id + 1), "setFenced", each.fenced, "setInControlledShutdown", each.shuttingDown);
            Object endPoint = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.common.metadata.RegisterBrokerRecord$BrokerEndpoint")));
            set(endPoint, "setName", "PLAINTEXT", "setHost", Follower.HOST, "setPort", each.id);
            Reflect.call(Reflect.call(record, "endPoints"), "add", endPoint);
            replay(delta, record);
        }
        return delta;
    }

    static Object applied(Object delta) {
        Class<?> provenance = Reflect.type("org.apache.kafka.image.MetadataProvenance");
        return Reflect.call(delta, "apply", Reflect.construct(provenance, p -> p == boolean.class ? (Object) true : p == int.class ? (Object) 1 : (Object) 1L));
    }

    static Object record(String name, Object... settersAndValues) {
        Object record = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.common.metadata." + name)));
        set(record, settersAndValues);
        return record;
    }

    private static void set(Object target, Object... settersAndValues) {
        for (int at = 0; at < settersAndValues.length; at += 2)
            Reflect.call(target, (String) settersAndValues[at], settersAndValues[at + 1]);
    }

    static void replay(Object delta, Object record) {
        Reflect.invoke(delta, REPLAYS.computeIfAbsent(record.getClass(), of -> {
            try {
                return delta.getClass().getMethod("replay", of);
            } catch (NoSuchMethodException e) {
                throw new Reflect.Missing("no MetadataDelta#replay(" + of.getSimpleName() + ")");
            }
        }), record);
    }

    /** The newest metadata version of a release. */
    static Object metadataVersion() {
        return NEWEST;
    }

    private static Object newestVersion() {
        for (String name : new String[] {"latestProduction", "latest"})
            for (Method each : METADATA_VERSION.getMethods())
                if (each.getName().equals(name) && each.getParameterCount() == 0)
                    return Reflect.invoke(null, each);
        throw new Reflect.Missing("no latest in " + METADATA_VERSION.getName());
    }

    static Object featureLevel() {
        return Reflect.call(metadataVersion(), "featureLevel");
    }

    /** A batch of records, whose values are the model's record ids. */
    static Object batch(List<Integer> ids, long timestamp) {
        Object records = java.lang.reflect.Array.newInstance(SIMPLE, ids.size());
        for (int number = 0; number < ids.size(); number++) {
            byte[] value = ByteBuffer.allocate(4).putInt(ids.get(number)).array();
            java.lang.reflect.Array.set(records, number, Reflect.make(Reflect.constructor(SIMPLE, long.class, byte[].class), timestamp, value));
        }
        return Reflect.invoke(null, WITH_RECORDS, NO_COMPRESSION, records);
    }

    /** MemoryRecords#withRecords(compression, records). */
    private static Method withRecords() {
        for (Method each : RECORDS.getMethods()) {
            Class<?>[] types = each.getParameterTypes();
            if (each.getName().equals("withRecords") && types.length == 2 && !types[0].isPrimitive() && Reflect.hasField(types[0], "NONE"))
                return each;
        }
        throw new Reflect.Missing("no MemoryRecords#withRecords(compression, records)");
    }

    /** A batch of one record that was damaged on its way. */
    static Object damaged() {
        ByteBuffer buffer = (ByteBuffer) Reflect.call(batch(List.of(0), 0), "buffer");
        int last = buffer.limit() - 1;
        buffer.put(last, (byte) ~buffer.get(last));
        return Reflect.callStatic(RECORDS, "readableRecords", buffer);
    }

    /** Each record as [offset, id, leader epoch]. */
    static List<long[]> read(Object records) {
        List<long[]> found = new ArrayList<>();
        for (Object batch : (Iterable<?>) Reflect.call(records, "batches")) {
            long epoch = ((Number) Reflect.call(batch, "partitionLeaderEpoch")).longValue();
            for (Object record : (Iterable<?>) batch)
                found.add(new long[] {(Long) Reflect.call(record, "offset"), ((ByteBuffer) Reflect.call(record, "value")).getInt(), epoch});
        }
        return found;
    }

    /** The id of the record at an offset, or of the next one; null if nothing was read. A fetch returns whole batches. */
    static Long readAt(Object records, long offset) {
        return read(records).stream().filter(each -> each[0] >= offset).findFirst().map(each -> each[1]).orElse(null);
    }

    /** How many bytes the batches from an offset on take that have no more than so many records: at least one batch, which a fetch returns however large. */
    static int bytesOf(Object records, long offset, int most) {
        int bytes = 0, count = 0;
        for (Object batch : (Iterable<?>) Reflect.call(records, "batches")) {
            if ((Long) Reflect.call(batch, "lastOffset") < offset)
                continue;
            count += (Integer) Reflect.call(batch, "countOrNull");
            if (count > most)
                break;
            bytes += (Integer) Reflect.call(batch, "sizeInBytes");
        }
        return Math.max(1, bytes);
    }

    /** Records as a follower gets them: copied off the leader's log. */
    static Object copied(Object records) {
        if (RECORDS.isInstance(records))
            return records;
        int size = (Integer) Reflect.call(records, "sizeInBytes");
        ByteBuffer buffer = ByteBuffer.allocate(size);
        Reflect.call(records, "readInto", buffer, 0);
        return Reflect.callStatic(RECORDS, "readableRecords", buffer);
    }

    /** The parameters of a fetch by a follower, or by a consumer (replica -1). */
    static Object fetchParams(int replica, long brokerEpoch, long maxWaitMs) {
        return fetchParams(replica, brokerEpoch, maxWaitMs, replica < 0 ? "HIGH_WATERMARK" : "LOG_END");
    }

    static Object fetchParams(int replica, long brokerEpoch, long maxWaitMs, String isolated) {
        return fetchParams(replica, brokerEpoch, maxWaitMs, isolated, 1, replica < 0 ? Optional.of(CONSUMER) : Optional.empty());
    }

    static Object fetchParams(int replica, long brokerEpoch, long maxWaitMs, String isolated, int minBytes, Optional<ClientMetadata> consumer) {
        Class<?> type = Reflect.type("org.apache.kafka.server.storage.log.FetchParams", "org.apache.kafka.storage.internals.log.FetchParams");
        Class<?> isolation = Reflect.type("org.apache.kafka.server.storage.log.FetchIsolation", "org.apache.kafka.storage.internals.log.FetchIsolation");
        int[] ints = {replica, minBytes, Integer.MAX_VALUE};
        long[] longs = {brokerEpoch, maxWaitMs};
        int[] used = {0, 0};
        return Reflect.construct(type, p -> {
            if (p == short.class)
                return (short) 15;
            if (p == int.class)
                return ints[used[0]++];
            if (p == long.class)
                return longs[used[1]++];
            if (p == isolation)
                return Reflect.enumOf(isolation, isolated);
            if (p == boolean.class)
                return false;
            return consumer;
        });
    }
}
