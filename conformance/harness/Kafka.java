import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.replica.ClientMetadata;
import org.apache.kafka.common.security.auth.KafkaPrincipal;

/** What releases of Kafka spell differently: metadata images, leadership changes, records, fetch parameters. */
final class Kafka {
    private static final Map<String, Object> IMAGES = new HashMap<>();
    static final Class<?> RECORDS = Reflect.type("org.apache.kafka.common.record.MemoryRecords", "org.apache.kafka.common.record.internal.MemoryRecords");
    private static final Class<?> SIMPLE = Reflect.type("org.apache.kafka.common.record.SimpleRecord", "org.apache.kafka.common.record.internal.SimpleRecord");

    /** Who may read from a follower, too: only leaders answer a consumer that does not say where it is (KIP-392). */
    private static final ClientMetadata CONSUMER = new ClientMetadata.DefaultClientMetadata(
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

    /** The metadata image with these registrations; `key` names them. */
    static Object image(String key, List<Registration> brokers) {
        return IMAGES.computeIfAbsent(key, k -> {
            Class<?> image = Reflect.type("org.apache.kafka.image.MetadataImage"), type = Reflect.type("org.apache.kafka.image.MetadataDelta");
            Object empty = Reflect.constant(image, "EMPTY");
            Object delta;
            Constructor<?> plain = Reflect.constructor(type, image);
            if (plain != null)
                delta = Reflect.make(plain, empty);
            else {
                Object builder = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.image.MetadataDelta$Builder")));
                Reflect.call(builder, "setImage", empty);
                delta = Reflect.call(builder, "build");
            }
            for (Registration each : brokers) {
                Object record = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.common.metadata.RegisterBrokerRecord")));
                Reflect.call(record, "setBrokerId", each.id);
                Reflect.call(record, "setBrokerEpoch", each.epoch);
                Reflect.call(record, "setIncarnationId", new Uuid(1, each.id + 1));
                Reflect.call(record, "setFenced", each.fenced);
                Reflect.call(record, "setInControlledShutdown", each.shuttingDown);
                Method replay = replay(type);
                Reflect.invoke(delta, replay, record);
            }
            Class<?> provenance = Reflect.type("org.apache.kafka.image.MetadataProvenance");
            return Reflect.call(delta, "apply", Reflect.construct(provenance, p -> p == boolean.class ? (Object) true : p == int.class ? (Object) 1 : (Object) 1L));
        });
    }

    private static Method replay(Class<?> delta) {
        try {
            return delta.getMethod("replay", Reflect.type("org.apache.kafka.common.metadata.RegisterBrokerRecord"));
        } catch (NoSuchMethodException e) {
            throw new Reflect.Missing("no MetadataDelta#replay(RegisterBrokerRecord)");
        }
    }

    /** What makeLeader and makeFollower take as the partition's new state. */
    static Object leadership(Class<?> type, TopicPartition partition, int leader, int leaderEpoch, int partitionEpoch, List<Integer> isr, List<Integer> replicas) {
        if (type.getSimpleName().equals("PartitionRegistration")) {
            Object builder = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.metadata.PartitionRegistration$Builder")));
            Reflect.call(builder, "setReplicas", (Object) ints(replicas));
            Uuid[] directories = new Uuid[replicas.size()];
            Arrays.fill(directories, Uuid.ZERO_UUID);
            Reflect.call(builder, "setDirectories", (Object) directories);
            Reflect.call(builder, "setIsr", (Object) ints(isr));
            Reflect.call(builder, "setLeader", leader);
            Reflect.call(builder, "setLeaderRecoveryState", Reflect.enumOf(Reflect.type("org.apache.kafka.metadata.LeaderRecoveryState"), "RECOVERED"));
            Reflect.call(builder, "setLeaderEpoch", leaderEpoch);
            Reflect.call(builder, "setPartitionEpoch", partitionEpoch);
            return Reflect.call(builder, "build");
        }
        Object state = Reflect.make(Reflect.constructor(type));
        Reflect.call(state, "setTopicName", partition.topic());
        Reflect.call(state, "setPartitionIndex", partition.partition());
        Reflect.call(state, "setControllerEpoch", 1);
        Reflect.call(state, "setLeader", leader);
        Reflect.call(state, "setLeaderEpoch", leaderEpoch);
        Reflect.call(state, "setIsr", isr);
        Reflect.call(state, "setPartitionEpoch", partitionEpoch);
        Reflect.call(state, "setReplicas", replicas);
        Reflect.call(state, "setIsNew", false);
        return state;
    }

    private static int[] ints(List<Integer> values) {
        return values.stream().mapToInt(Integer::intValue).toArray();
    }

    /** A batch of one record, whose value is the model's record id. */
    static Object record(int id, long timestamp) {
        Object record = Reflect.make(Reflect.constructor(SIMPLE, long.class, byte[].class), timestamp, ByteBuffer.allocate(4).putInt(id).array());
        Object records = java.lang.reflect.Array.newInstance(SIMPLE, 1);
        java.lang.reflect.Array.set(records, 0, record);
        for (Method each : RECORDS.getMethods()) {
            Class<?>[] types = each.getParameterTypes();
            if (!each.getName().equals("withRecords") || types.length != 2 || types[0].isPrimitive())
                continue;
            Object none;
            try {
                none = types[0].getField("NONE").get(null);
            } catch (ReflectiveOperationException e) {
                continue;
            }
            return Reflect.invoke(null, each, none, records);
        }
        throw new Reflect.Missing("no MemoryRecords#withRecords(compression, records)");
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
    static Object fetchParams(int replica, long brokerEpoch) {
        Class<?> type = Reflect.type("org.apache.kafka.server.storage.log.FetchParams", "org.apache.kafka.storage.internals.log.FetchParams");
        Class<?> isolation = Reflect.type("org.apache.kafka.server.storage.log.FetchIsolation", "org.apache.kafka.storage.internals.log.FetchIsolation");
        int[] ints = {replica, 1, 1};
        long[] longs = {brokerEpoch, 0};
        int[] used = {0, 0};
        return Reflect.construct(type, p -> {
            if (p == short.class)
                return (short) 15;
            if (p == int.class)
                return ints[used[0]++];
            if (p == long.class)
                return longs[used[1]++];
            if (p == isolation)
                return Reflect.enumOf(isolation, replica < 0 ? "HIGH_WATERMARK" : "LOG_END");
            if (p == boolean.class)
                return false;
            return replica < 0 ? Optional.of(CONSUMER) : Optional.empty();
        });
    }
}
