import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.raft.LogOffsetMetadata;
import org.apache.kafka.raft.MemoryLog;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.RawSnapshotWriter;
import org.apache.kafka.snapshot.RecordsSnapshotWriter;

/** Judges the log in memory: the same operations, drawn from a seed, on it and on Kafka's own on disk. What they answer, what they refuse and what is there afterwards must be the same. */
final class LogComparison {
    private enum Kind {
        APPEND_AS_LEADER(6), APPEND_AS_FOLLOWER(8), INITIALIZE_EPOCH(2), TRUNCATE(2), TRUNCATE_TO_EPOCH(2), TRUNCATE_TO_SNAPSHOT(2), HIGH_WATERMARK(6), READ(6), VALIDATE(3),
        SNAPSHOT(5), UNCHECKED_SNAPSHOT(1), READ_SNAPSHOT(3), DELETE_BEFORE_SNAPSHOT(3), FLUSH(1), CLEAN(1), START_AGAIN(2);

        private final int weight;

        Kind(int weight) {
            this.weight = weight;
        }
    }

    private static final Class<?> OFFSET_AND_EPOCH = Reflect.type("org.apache.kafka.raft.OffsetAndEpoch", "org.apache.kafka.server.common.OffsetAndEpoch");
    private static final Object[] ISOLATIONS = Reflect.type("org.apache.kafka.raft.Isolation").getEnumConstants();
    /** What Kafka refuses by classes that releases have moved, and the log in memory by the one that they extend. */
    private static final List<String> MOVED = List.of("UnexpectedAppendOffsetException", "OffsetsOutOfOrderException");

    /** Since 4.3 who reads says how many bytes. */
    private static final boolean READS_SOME = Reflect.exists("org.apache.kafka.raft.RaftLog");

    private final Random random;
    private final File folder;
    private final Clock clock = new Clock();
    private final MemoryLog memory;
    private Object disk;
    private int epoch = 1;
    /** Records that were read in memory, and what they were. */
    private final Map<Object, String> read = new IdentityHashMap<>();
    private final Map<String, Integer> done = new TreeMap<>(), refused = new TreeMap<>();

    private LogComparison(long seed, boolean whole, File folder) {
        random = Chance.of(seed);
        this.folder = new File(folder, DiskLog.TOPIC.toString());
        memory = new MemoryLog(DiskLog.TOPIC, DiskLog.TOPIC_ID, whole);
        disk = DiskLog.open(this.folder, clock, 0);
    }

    /** How often each operation was done and refused, and where the logs differ first, if they do. */
    static Object compared(long seed, int steps, boolean whole, File folder) {
        LogComparison comparison = new LogComparison(seed, whole, folder);
        String difference = null;
        try {
            for (int each = 0; each < steps && difference == null; each++)
                difference = comparison.step();
        } finally {
            Reflect.call(comparison.disk, "close");
            DiskLog.delete(folder);
        }
        Map<String, Object> told = new LinkedHashMap<>(Map.of("done", comparison.done, "refused", comparison.refused));
        if (difference != null)
            told.put("difference", difference);
        return told;
    }

    private String step() {
        Kind kind = drawn();
        done.merge(kind.name().toLowerCase(Locale.ROOT), 1, Integer::sum);
        String told = kind == Kind.START_AGAIN ? startAgain() : both(kind.name().toLowerCase(Locale.ROOT), drawn(kind));
        return told != null ? told : read.entrySet().stream().allMatch(each -> bytes(each.getKey()).equals(each.getValue())) ? both(null, this::state)
            : "what was read in memory is not the same after " + done;
    }

    private Kind drawn() {
        int at = any(53);
        for (Kind each : Kind.values()) {
            at -= each.weight;
            if (at < 0)
                return each;
        }
        throw new IllegalStateException("the weights are fewer");
    }

    /** Do the same to both logs; what differs, or null. An operation that has a name is counted if it is refused. */
    private String both(String name, Function<Object, Object> operation) {
        String inMemory = answer(memory, operation), onDisk = answer(disk, operation);
        if (name != null && onDisk.startsWith("refused"))
            refused.merge(name, 1, Integer::sum);
        return inMemory.equals(onDisk) ? null : (name == null ? "what is there after " + done : name) + ": in memory " + inMemory + ", on disk " + onDisk;
    }

    private static String answer(Object log, Function<Object, Object> operation) {
        try {
            return told(operation.apply(log));
        } catch (RuntimeException refused) {
            if (log instanceof MemoryLog && Blame.isOwn(refused))
                throw refused;
            String name = refused.getClass().getSimpleName();
            return "refused: " + (MOVED.contains(name) ? "KafkaException" : name);
        }
    }

    private String startAgain() {
        Reflect.call(disk, "close");
        return both("start_again", log -> {
            if (log == memory)
                memory.open();
            else
                disk = DiskLog.open(folder, clock, 0);
            return "";
        });
    }

    private Function<Object, Object> drawn(Kind kind) {
        long offset = offset();
        int asked = any(epoch + 2);
        Object id = id(offset, asked);
        switch (kind) {
            case APPEND_AS_LEADER: {
                epoch += any(4) == 0 ? 1 : 0;
                int given = any(10) == 0 ? epoch + 1 : epoch;
                byte[] bytes = records(memory.endOffset().offset(), epoch, epoch);
                return log -> Reflect.call(log, "appendAsLeader", MemoryRecords.readableRecords(ByteBuffer.wrap(bytes.clone())), given);
            }
            case APPEND_AS_FOLLOWER: {
                long first = Math.max(0, memory.endOffset().offset() + (any(8) == 0 ? any(5) - 2 : 0));
                int from = Math.max(1, epoch - any(2));
                byte[] bytes = records(first, from, from + any(3));
                epoch = Math.max(epoch, from);
                int given = epoch;
                return log -> Reflect.call(log, "appendAsFollower", MemoryRecords.readableRecords(ByteBuffer.wrap(bytes.clone())), given);
            }
            case INITIALIZE_EPOCH: {
                int begins = ++epoch;
                return log -> Reflect.call(log, "initializeLeaderEpoch", begins);
            }
            case TRUNCATE:
                return log -> Reflect.call(log, "truncateTo", offset);
            case TRUNCATE_TO_EPOCH:
                return log -> Reflect.call(log, "truncateToEndOffset", id);
            case TRUNCATE_TO_SNAPSHOT:
                return log -> Reflect.call(log, "truncateToLatestSnapshot");
            case HIGH_WATERMARK: {
                int how = any(3);
                return log -> Reflect.call(log, "updateHighWatermark", how == 0 ? new LogOffsetMetadata(offset) : how == 1 ? Reflect.call(log, "endOffset")
                    : Reflect.get(read(log, offset, 0, 1 << 20), "startOffsetMetadata"));
            }
            case READ: {
                int isolation = any(2), most = List.of(1, 120, 1 << 20).get(any(3));
                return log -> {
                    Object found = read(log, offset, isolation, most);
                    if (log == memory)
                        read.put(Reflect.get(found, "records"), bytes(Reflect.get(found, "records")));
                    return found;
                };
            }
            case VALIDATE:
                return log -> Reflect.call(log, "validateOffsetAndEpoch", offset, asked);
            case SNAPSHOT:
            case UNCHECKED_SNAPSHOT:
                return snapshot(kind, id);
            case READ_SNAPSHOT: {
                Object known = known(id);
                int position = any(90), size = any(90);
                return log -> ((Optional<?>) Reflect.call(log, "readSnapshot", known)).map(each -> told(each) + told(Reflect.call(each, "slice", (long) position, size)));
            }
            case DELETE_BEFORE_SNAPSHOT: {
                Object known = known(id);
                return log -> Reflect.call(log, "deleteBeforeSnapshot", known);
            }
            case FLUSH: {
                boolean forced = any(2) == 0;
                return log -> Reflect.call(log, "flush", forced);
            }
            default:
                return log -> Reflect.call(log, "maybeClean");
        }
    }

    private int any(int bound) {
        return random.nextInt(bound);
    }

    /** One that the log has, or one near it. */
    private long offset() {
        long start = memory.startOffset();
        return Math.max(0, start - 2 + any((int) (memory.endOffset().offset() - start) + 5));
    }

    private static Object id(long offset, int epoch) {
        return Reflect.make(Reflect.constructor(OFFSET_AND_EPOCH, long.class, int.class), offset, epoch);
    }

    /** Mostly a snapshot that there is. */
    private Object known(Object otherwise) {
        Optional<?> known = (Optional<?>) Reflect.call(memory, any(2) == 0 ? "latestSnapshotId" : "earliestSnapshotId");
        return any(6) == 0 || known.isEmpty() ? otherwise : known.get();
    }

    /** One or two batches of one to three records; now and then the last one is damaged. */
    private byte[] records(long first, int epoch, int lastEpoch) {
        ByteBuffer bytes = ByteBuffer.allocate(1 << 10);
        long at = first;
        for (int number = any(2); number >= 0; number--) {
            int count = 1 + any(3);
            SimpleRecord[] records = new SimpleRecord[count];
            for (int each = 0; each < count; each++)
                records[each] = new SimpleRecord(clock.milliseconds(), new byte[] {(byte) any(100)});
            bytes.put(MemoryRecords.withRecords(at, Compression.NONE, number == 0 ? lastEpoch : epoch, records).buffer());
            at += count;
        }
        if (any(20) == 0)
            bytes.put(bytes.position() - 2, (byte) 101);
        bytes.flip();
        byte[] made = new byte[bytes.limit()];
        bytes.get(made);
        return made;
    }

    /** Write a snapshot, or begin one and leave it. */
    private Function<Object, Object> snapshot(Kind kind, Object id) {
        boolean ends = any(4) > 0;
        int number = any(100);
        byte[] begun = records(0, 0, 0);
        // mostly one that is possible: of what is committed, and of the newest epoch
        Object wanted = kind == Kind.UNCHECKED_SNAPSHOT || any(3) == 0 ? id
            : id(Math.min(memory.highWatermark().offset(), (Long) Reflect.call(id, "offset")), Math.max(1, epoch - any(2)));
        return log -> ((Optional<?>) Reflect.call(log, kind == Kind.SNAPSHOT ? "createNewSnapshot" : "createNewSnapshotUnchecked", wanted)).map(writer -> {
            if (ends)
                write((RawSnapshotWriter) writer, number);
            else
                ((RawSnapshotWriter) writer).append(MemoryRecords.readableRecords(ByteBuffer.wrap(begun)));
            String told = Reflect.call(writer, "sizeInBytes") + " " + Reflect.call(writer, "isFrozen");
            ((RawSnapshotWriter) writer).close();
            return told;
        });
    }

    private void write(RawSnapshotWriter raw, int number) {
        Object builder = Reflect.make(Reflect.longest(RecordsSnapshotWriter.Builder.class));
        Reflect.call(builder, "setRawSnapshotWriter", raw);
        Reflect.call(builder, "setTime", clock);
        Reflect.call(builder, "setLastContainedLogTimestamp", clock.milliseconds());
        Object writer = Reflect.call(builder, "build", new WalkedReplica.Numbers());
        Reflect.call(writer, "append", List.of(number));
        WalkedReplica.freeze(writer);
    }

    private static Object read(Object log, long offset, int isolation, int most) {
        java.lang.reflect.Method method = Reflect.byName(log.getClass(), "read");
        boolean all = log instanceof MemoryLog ? !READS_SOME : method.getParameterCount() == 2;
        return all ? Reflect.call(log, "read", offset, ISOLATIONS[isolation]) : Reflect.call(log, "read", offset, ISOLATIONS[isolation], most);
    }

    private Object state(Object log) {
        List<String> state = new ArrayList<>();
        for (String each : List.of("startOffset", "endOffset", "highWatermark", "lastFetchedEpoch", "latestSnapshotId", "earliestSnapshotId"))
            state.add(each + " " + answer(log, it -> Reflect.call(it, each)));
        for (int each = 0; each <= epoch + 1; each++) {
            int asked = each;
            state.add("end of epoch " + each + " " + answer(log, it -> Reflect.call(it, "endOffsetForEpoch", asked)));
        }
        return String.join(", ", state);
    }

    // ---- an answer in words

    private static String bytes(Object records) {
        byte[] bytes = new byte[DiskLog.copied(records).remaining()];
        DiskLog.copied(records).get(bytes);
        return bytes.length + " bytes " + Integer.toHexString(Arrays.hashCode(bytes));
    }

    private static String told(Object value) {
        if (value instanceof Optional)
            return ((Optional<?>) value).map(LogComparison::told).orElse("nothing");
        if (value instanceof LogOffsetMetadata)
            return Reflect.call(value, "offset") + ((LogOffsetMetadata) value).metadata().map(each -> " at " + Reflect.call(each, "baseOffset") + "+" + Reflect.call(each, "relativePosition")).orElse("");
        if (value == null || value instanceof String || value instanceof Number || value instanceof Boolean)
            return String.valueOf(value);
        switch (value.getClass().getSimpleName()) {
            case "OffsetAndEpoch":
                return Reflect.call(value, "offset") + " of epoch " + Reflect.call(value, "epoch");
            case "ValidOffsetAndEpoch":
                return Reflect.call(value, "kind") + " " + told(Reflect.call(value, "offsetAndEpoch"));
            case "LogAppendInfo":
                return Reflect.get(value, "firstOffset") + ".." + Reflect.get(value, "lastOffset");
            case "LogFetchInfo":
                return told(Reflect.get(value, "startOffsetMetadata")) + " " + bytes(Reflect.get(value, "records"));
            default:
                return value instanceof RawSnapshotReader ? told(Reflect.call(value, "snapshotId")) + " " + Reflect.call(value, "sizeInBytes") + " "
                    + bytes(Reflect.call(value, "records")) : bytes(value);
        }
    }
}
