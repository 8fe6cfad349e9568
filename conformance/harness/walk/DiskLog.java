import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Map;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** Kafka's own log on disk, whose tasks in the background are done at once, but for the deletion of files. */
final class DiskLog {
    static final TopicPartition TOPIC = new TopicPartition("__cluster_metadata", 0);
    static final Uuid TOPIC_ID = new Uuid(0, 1);
    private static final String RAFT = "org.apache.kafka.raft.";
    private static final int MOST_BYTES = 8 << 20;

    private static final ClassValue<Boolean> ON_DISK = new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> records) {
            return records.getSimpleName().endsWith("FileRecords");
        }
    };

    private DiskLog() { }

    /** What is in a folder, which is made if there is none. */
    static Object open(File folder, Clock clock, int id) {
        if (!folder.isDirectory() && !folder.mkdirs())
            throw new IllegalStateException(folder + " cannot be made");
        Object scheduler = Reflect.proxy(Reflect.type("org.apache.kafka.server.util.Scheduler"), (name, arguments) -> {
            if (name.startsWith("schedule") && !String.valueOf(arguments[0]).startsWith("delete"))
                ((Runnable) arguments[1]).run();
            return name.startsWith("schedule") ? Reflect.proxy(ScheduledFuture.class, (each, none) -> null) : null;
        });
        Class<?> type = Reflect.type(RAFT + "internals.KafkaRaftLog", "kafka.raft.KafkaMetadataLog");
        Method method = Reflect.byName(type, Reflect.exists(RAFT + "internals.KafkaRaftLog") ? "createLog" : "apply");
        return Reflect.invoke(null, method, Reflect.supply(method.getParameterTypes(), WalkedReplica.byType(TOPIC, TOPIC_ID, folder, clock, scheduler, config(id), id)));
    }

    private static Object config(int id) {
        Class<?> type = Reflect.type(RAFT + "MetadataLogConfig", "kafka.raft.MetadataLogConfig");
        return type.getName().startsWith(RAFT) ? WalkedReplica.configured(type, Map.of())
            : Reflect.make(Reflect.longest(type), 64 << 20, 64 << 20, 604_800_000L, 100L << 20, 604_800_000L, MOST_BYTES, MOST_BYTES, 60_000L, id);
    }

    /** Whether records, or a part of a snapshot, are in a file. */
    static boolean isOnDisk(Object records) {
        return records != null && ON_DISK.get(records.getClass());
    }

    /** The bytes of records, or of a part of a snapshot. */
    static ByteBuffer copied(Object records) {
        if (!isOnDisk(records))
            return (ByteBuffer) Reflect.call(records, "buffer");
        ByteBuffer copy = ByteBuffer.allocate((Integer) Reflect.call(records, "sizeInBytes"));
        try {
            if (records.getClass().getSimpleName().equals("FileRecords"))
                Reflect.call(records, "readInto", copy, 0);
            else
                ((FileChannel) Reflect.read(records, "channel")).read(copy, (Long) Reflect.read(records, "position"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        copy.rewind();
        return copy;
    }

    static void delete(File file) {
        File[] inside = file.listFiles();
        if (inside != null)
            for (File each : inside)
                delete(each);
        file.delete();
    }
}
