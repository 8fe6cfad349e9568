import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What brokers and controllers leave on disk, read by Kafka's own classes and changed in nothing.
 *
 * {"folder": a log directory} lists what is in it, and {"records": a file of the metadata log, "from": a byte, "to": a byte, "most": bytes}
 * has the batches of a part of it with their records. What cannot be read is an "error" where it was to stand.
 */
public final class Disk {
    private static final Class<?> FILE_RECORDS = Reflect.type("org.apache.kafka.common.record.internal.FileRecords", "org.apache.kafka.common.record.FileRecords");
    private static final Class<?> EPOCHS = Reflect.type("org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile");
    private static final Class<?> OFFSETS = Reflect.type("org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile", "kafka.server.checkpoints.OffsetCheckpointFile");
    private static final Class<?> TOPIC_IDS = Reflect.type("org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile");
    private static final Class<?> FAILURES = Reflect.type("org.apache.kafka.storage.internals.log.LogDirFailureChannel");
    private static final Class<?> SERDE = Reflect.type("org.apache.kafka.metadata.MetadataRecordSerde");
    private static final Class<?> JSON = Reflect.type("org.apache.kafka.common.metadata.MetadataJsonConverters");
    private static final Class<?> ACCESSOR = Reflect.type("org.apache.kafka.common.protocol.ByteBufferAccessor");
    private static final Class<?> LOG = Reflect.type("org.apache.kafka.storage.internals.log.LocalLog", "kafka.log.LocalLog");
    private static final Class<?> CONTROL = Reflect.type("org.apache.kafka.common.record.internal.ControlRecordType", "org.apache.kafka.common.record.ControlRecordType");
    private static final String METADATA = "__cluster_metadata";

    private Disk() { }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> each -> each.has("records") ? records(each) : directory(new File(each.get("folder").asText())));
    }

    private interface Reading {
        Object read() throws Exception;
    }

    /** What was read under a name, or why it cannot be read. */
    private static void put(Map<String, Object> found, String name, Reading reading) {
        try {
            found.put(name, reading.read());
        } catch (Reflect.Missing e) {
            throw e;
        } catch (Exception | Error e) {
            found.put(name, Map.of("error", said(e)));
        }
    }

    /** What an error says, or what its causes say, if it has any. */
    private static String said(Throwable error) {
        List<String> words = new ArrayList<>();
        for (Throwable each = error.getCause() == null ? error : error.getCause(); each != null; each = each.getCause())
            words.add(each.getClass().getSimpleName() + (each.getMessage() == null ? "" : ": " + each.getMessage()));
        return String.join("; ", words);
    }

    private static Map<String, Object> directory(File folder) {
        Map<String, Object> found = new LinkedHashMap<>();
        put(found, "properties", () -> properties(new File(folder, "meta.properties")));
        File checkpoint = new File(folder, "replication-offset-checkpoint");
        if (checkpoint.exists())
            put(found, "high_watermarks", () -> offsets(checkpoint));
        File starts = new File(folder, "log-start-offset-checkpoint");
        if (starts.exists())
            put(found, "log_starts", () -> offsets(starts));
        Map<String, Object> partitions = new LinkedHashMap<>();
        File[] inside = folder.listFiles(File::isDirectory);
        if (inside != null) {
            Arrays.sort(inside);
            for (File each : inside)
                // topics that are being deleted, and replicas that move, are no replicas
                if (each.getName().matches(".*-[0-9]+"))
                    put(partitions, each.getName(), () -> partition(each));
        }
        found.put("partitions", partitions);
        return found;
    }

    private static Object properties(File file) throws Exception {
        Properties read = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            read.load(in);
        }
        Map<String, String> found = new LinkedHashMap<>();
        for (String each : read.stringPropertyNames())
            found.put(each, read.getProperty(each));
        return found;
    }

    private static Object failures() {
        return Reflect.construct(FAILURES, type -> 1);
    }

    private static Object offsets(File file) {
        Object read = Reflect.call(Reflect.make(Reflect.constructor(OFFSETS, File.class, FAILURES), file, failures()), "read");
        Map<?, ?> offsets = read instanceof Map ? (Map<?, ?>) read : CollectionConverters.asJava((scala.collection.Map<?, ?>) read);
        Map<String, Object> found = new LinkedHashMap<>();
        for (Map.Entry<?, ?> each : offsets.entrySet())
            found.put(each.getKey().toString(), each.getValue());
        return found;
    }

    private static Object partition(File folder) throws Exception {
        boolean metadata = folder.getName().startsWith(METADATA);
        Object named = Reflect.callStatic(LOG, "parseTopicPartitionName", folder);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("topic", Reflect.call(named, "topic"));
        found.put("partition", Reflect.call(named, "partition"));
        File epochs = new File(folder, "leader-epoch-checkpoint");
        if (epochs.exists())
            put(found, "epochs", () -> epochs(epochs));
        File id = new File(folder, "partition.metadata");
        if (id.exists())
            put(found, "topic_id", () -> topicId(id));
        List<Object> segments = new ArrayList<>();
        File[] logs = folder.listFiles((in, name) -> name.endsWith(".log"));
        if (logs != null) {
            Arrays.sort(logs);
            for (File each : logs)
                segments.add(segment(each));
        }
        found.put("segments", segments);
        if (metadata) {
            List<Object> snapshots = new ArrayList<>();
            File[] files = folder.listFiles((in, name) -> name.endsWith(".checkpoint"));
            if (files != null) {
                Arrays.sort(files);
                for (File each : files)
                    snapshots.add(segment(each));
            }
            found.put("snapshots", snapshots);
        }
        return found;
    }

    private static Object epochs(File file) {
        Object checkpoint = Reflect.make(Reflect.constructor(EPOCHS, File.class, FAILURES), file, failures());
        List<Object> found = new ArrayList<>();
        for (Object each : (Iterable<?>) Reflect.call(checkpoint, "read"))
            found.add(List.of(Reflect.get(each, "epoch"), Reflect.get(each, "startOffset")));
        return found;
    }

    private static String topicId(File file) {
        Object kept = Reflect.make(Reflect.constructor(TOPIC_IDS, File.class, FAILURES), file, failures());
        return Reflect.call(Reflect.call(kept, "read"), "topicId").toString();
    }

    /** A segment's batches, up to the first that is not whole. */
    private static Object segment(File file) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        List<Object> batches = new ArrayList<>();
        found.put("file", file.getName());
        found.put("size", file.length());
        found.put("batches", batches);
        long whole = 0;
        Object records = Reflect.callStatic(FILE_RECORDS, "open", file, false);
        try {
            for (Object batch : (Iterable<?>) Reflect.call(records, "batches")) {
                Reflect.call(batch, "ensureValid");
                batches.add(batch(batch));
                whole += ((Number) Reflect.call(batch, "sizeInBytes")).longValue();
            }
        } catch (Reflect.Missing e) {
            throw e;
        } catch (Exception | Error e) {
            found.put("error", said(e));
        } finally {
            Reflect.callFirst(records, "closeHandlers", "close");
        }
        found.put("whole", whole);
        return found;
    }

    /** The batches of a part of the metadata log that are behind each other there, and the byte behind the last one. */
    private static Object records(JsonNode asked) throws Exception {
        List<Object> batches = new ArrayList<>();
        long next = asked.get("from").asLong();
        long end = Math.min(asked.get("to").asLong(), next + asked.get("most").asLong());
        Object records = Reflect.callStatic(FILE_RECORDS, "open", new File(asked.get("records").asText()), false);
        try {
            for (Object batch : (Iterable<?>) Reflect.call(records, "batchesFrom", (int) next)) {
                Map<String, Object> found = batch(batch);
                boolean control = (Boolean) Reflect.call(batch, "isControlBatch");
                List<Object> inside = new ArrayList<>();
                for (Object record : (Iterable<?>) batch)
                    inside.add(control ? control(record) : metadata(record));
                found.put("records", inside);
                batches.add(found);
                next += ((Number) Reflect.call(batch, "sizeInBytes")).longValue();
                if (next >= end)
                    break;
            }
        } finally {
            Reflect.callFirst(records, "closeHandlers", "close");
        }
        return Map.of("batches", batches, "next", next);
    }

    private static Map<String, Object> batch(Object batch) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("base", Reflect.call(batch, "baseOffset"));
        found.put("last", Reflect.call(batch, "lastOffset"));
        found.put("epoch", Reflect.call(batch, "partitionLeaderEpoch"));
        found.put("checksum", Reflect.call(batch, "checksum"));
        found.put("time", Reflect.call(batch, "maxTimestamp"));
        return found;
    }

    private static Object control(Object record) {
        Object type = Reflect.callStatic(CONTROL, "parse", Reflect.call(record, "key"));
        return Map.of("control", type.toString(), "offset", Reflect.call(record, "offset"));
    }

    private static Object metadata(Object record) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("offset", Reflect.call(record, "offset"));
        ByteBuffer value = (ByteBuffer) Reflect.call(record, "value");
        put(found, "record", () -> {
            Object accessor = Reflect.make(Reflect.constructor(ACCESSOR, ByteBuffer.class), value);
            Object read = Reflect.call(Reflect.constant(SERDE, "INSTANCE"), "read", accessor, value.remaining());
            Object message = Reflect.call(read, "message");
            found.put("type", message.getClass().getSimpleName());
            return Reflect.callStatic(JSON, "writeJson", message, Reflect.call(read, "version"));
        });
        return found;
    }
}
