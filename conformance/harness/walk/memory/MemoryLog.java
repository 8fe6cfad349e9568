package org.apache.kafka.raft;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.server.common.*;
import org.apache.kafka.snapshot.*;

/**
 * The log of a replica in memory, in place of KafkaRaftLog (until 4.2 KafkaMetadataLog), by the rules of that class and of UnifiedLog below it (3.9 to 4.4). It has one segment, which
 * is never full or old, as those on disk are not in a walk. `LogComparison` judges it.
 *
 * <p>It is in this package for the names that releases have moved: OffsetAndEpoch is of this package until 4.0.
 */
public final class MemoryLog implements KafkaLog {
    private static final int MOST_BYTES = 8 << 20;

    /** What Kafka calls a SegmentPosition: the first offset of a segment, and bytes before what is meant. */
    public record Position(long baseOffset, int relativePosition) implements OffsetMetadata { }

    private record Batch(long first, long last, int epoch, int position, int size) { }

    private final TopicPartition partition;
    private final Uuid topicId;
    /** Whether an offset within a batch is taken for the batch's first one: since 4.0. */
    private final boolean whole;

    // what is on disk
    private final List<Batch> batches = new ArrayList<>();
    private byte[] bytes = new byte[1 << 10];
    private final Epochs epochs = new Epochs();
    /** The first offset of the segment. Those up to the log's start are deleted, but are there, and come back when the process starts again. */
    private long base;
    private int flushed;
    private final Map<OffsetAndEpoch, ByteBuffer> files = new HashMap<>();

    // what its process knows
    private long start, end;
    private LogOffsetMetadata highWatermark;
    private final TreeSet<OffsetAndEpoch> snapshots = new TreeSet<>();

    public MemoryLog(TopicPartition partition, Uuid topicId, boolean whole) {
        this.partition = partition;
        this.topicId = topicId;
        this.whole = whole;
        open();
    }

    // ---- its process

    /** What starting does: LogLoader, which recovers the segment, KafkaRaftLog#recoverSnapshots, and the truncation that was not done. */
    public void open() {
        start = base;
        end = batches.isEmpty() ? base : batches.get(batches.size() - 1).last + 1;
        for (Batch each : batches)
            if (epochs.isEmpty() || each.epoch > epochs.latest())
                epochs.assign(each.epoch, each.first);
        epochs.truncateFromEnd(end);
        epochs.truncateFromStart(0);
        highWatermark = new LogOffsetMetadata(start);
        files.keySet().removeIf(each -> each.offset() < start);
        snapshots.clear();
        snapshots.addAll(files.keySet());
        if (start > 0 && snapshots.isEmpty())
            throw new IllegalStateException("the log begins at " + start + ", and there is no snapshot");
        truncateToLatestSnapshot();
    }

    /** The machine loses power: what was not flushed is gone. */
    public void losePower() {
        cut(flushed);
    }

    private int size() {
        Batch last = batches.isEmpty() ? null : batches.get(batches.size() - 1);
        return last == null ? 0 : last.position + last.size;
    }

    // ---- append

    @Override
    public LogAppendInfo appendAsLeader(Records records, int epoch) {
        List<MutableRecordBatch> added = read(records);
        for (MutableRecordBatch each : added) {
            if (each.partitionLeaderEpoch() != epoch)
                throw new InvalidRecordException("the leader of epoch " + epoch + " appends a batch of epoch " + each.partitionLeaderEpoch());
            refuseIfCorrupt(each);
        }
        long first = end, next = end;
        for (MutableRecordBatch each : added) {
            next += each.lastOffset() - each.baseOffset() + 1;
            each.setLastOffset(next - 1);
        }
        append(((MemoryRecords) records).buffer(), added);
        return new LogAppendInfo(first, next - 1);
    }

    @Override
    public LogAppendInfo appendAsFollower(Records records, int epoch) {
        List<MutableRecordBatch> added = new ArrayList<>();
        for (MutableRecordBatch each : read(records)) {
            if (each.partitionLeaderEpoch() > epoch)
                break;
            refuseIfCorrupt(each);
            if (!added.isEmpty() && each.lastOffset() <= added.get(added.size() - 1).lastOffset())
                throw new KafkaException("a batch that ends at " + each.lastOffset() + " comes after one that ends at " + added.get(added.size() - 1).lastOffset());
            added.add(each);
        }
        if (added.isEmpty())
            throw new CorruptRecordException("no batch is of an epoch up to " + epoch);
        long first = added.get(0).baseOffset();
        if (first < end)
            throw new KafkaException("the log ends at " + end + ", and a batch begins at " + first);
        append(((MemoryRecords) records).buffer(), added);
        return new LogAppendInfo(first, end - 1);
    }

    private static List<MutableRecordBatch> read(Records records) {
        if (records.sizeInBytes() == 0)
            throw new IllegalArgumentException("nothing is to be appended");
        List<MutableRecordBatch> read = new ArrayList<>();
        ((MemoryRecords) records).batches().forEach(read::add);
        return read;
    }

    private static void refuseIfCorrupt(RecordBatch batch) {
        if (!batch.isValid())
            throw new CorruptRecordException("the checksum of the batch at " + batch.baseOffset() + " is wrong");
    }

    private void append(ByteBuffer content, List<MutableRecordBatch> added) {
        int from = content.position(), at = size();
        for (MutableRecordBatch each : added) {
            epochs.assign(each.partitionLeaderEpoch(), each.baseOffset());
            Batch batch = new Batch(each.baseOffset(), each.lastOffset(), each.partitionLeaderEpoch(), at, each.sizeInBytes());
            batches.add(batch);
            at += batch.size;
            if (at > bytes.length)
                bytes = Arrays.copyOf(bytes, 2 * at);
            content.get(from, bytes, batch.position, batch.size);
            from += batch.size;
            end = batch.last + 1;
        }
        if (highWatermark.offset() >= end)
            highWatermark = endOffset();
    }

    @Override
    public void initializeLeaderEpoch(int epoch) {
        epochs.assign(epoch, end);
    }

    @Override
    public void flush(boolean alsoIfEmpty) {
        flushed = batches.size();
    }

    // ---- read

    public LogFetchInfo read(long from, Isolation isolation) {
        return read(from, isolation, MOST_BYTES);
    }

    public LogFetchInfo read(long from, Isolation isolation, int mostBytes) {
        LogOffsetMetadata most = isolation == Isolation.UNCOMMITTED ? endOffset() : highWatermark();
        if (from < start || from > end)
            throw new OffsetOutOfRangeException("the log has offsets from " + start + " to " + end + ", and not " + from);
        if (from >= most.offset())
            return new LogFetchInfo(MemoryRecords.EMPTY, from == most.offset() ? most : at(from));
        Batch batch = holding(from);
        if (batch == null)
            return new LogFetchInfo(MemoryRecords.EMPTY, endOffset());
        Position last = (Position) most.metadata().orElse(null);
        int until = last == null || last.baseOffset < base ? batch.position : last.baseOffset > base ? size() : last.relativePosition;
        int length = Math.min(until - batch.position, Math.max(mostBytes, batch.size));
        return new LogFetchInfo(length <= 0 ? MemoryRecords.EMPTY : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes, batch.position, length).slice()), at(from));
    }

    /** The first batch that ends at this offset or later, or null. */
    private Batch holding(long offset) {
        int low = 0, high = batches.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (batches.get(middle).last < offset)
                low = middle + 1;
            else
                high = middle;
        }
        return low == batches.size() ? null : batches.get(low);
    }

    /** An offset and where it is. */
    private LogOffsetMetadata at(long offset) {
        Batch batch = offset == end ? null : holding(offset);
        return batch == null ? endOffset() : known(whole ? batch.first : offset, batch.position);
    }

    private LogOffsetMetadata known(long offset, int position) {
        return new LogOffsetMetadata(offset, Optional.of(new Position(base, position)));
    }

    // ---- offsets and epochs

    @Override
    public long startOffset() {
        return start;
    }

    @Override
    public LogOffsetMetadata endOffset() {
        return known(end, size());
    }

    @Override
    public LogOffsetMetadata highWatermark() {
        if (highWatermark.metadata().isEmpty() && highWatermark.offset() >= base && highWatermark.offset() <= end)
            highWatermark = at(highWatermark.offset());
        return highWatermark;
    }

    @Override
    public void updateHighWatermark(LogOffsetMetadata offset) {
        highWatermark = offset.offset() < start ? new LogOffsetMetadata(start) : offset.offset() >= end ? endOffset()
            : offset.metadata().filter(Position.class::isInstance).isPresent() ? offset : new LogOffsetMetadata(offset.offset());
    }

    @Override
    public int lastFetchedEpoch() {
        if (!epochs.isEmpty())
            return epochs.latest();
        if (snapshots.isEmpty())
            return 0;
        OffsetAndEpoch last = snapshots.last();
        if (last.offset() != start || last.offset() != end)
            throw new KafkaException("no epoch is known: the log begins at " + start + " and ends at " + end + ", and the newest snapshot is " + last);
        return last.epoch();
    }

    @Override
    public OffsetAndEpoch endOffsetForEpoch(int epoch) {
        Epochs.End found = epochs.end(epoch, end);
        if (found == null)
            return new OffsetAndEpoch(end, lastFetchedEpoch());
        boolean oldest = !snapshots.isEmpty() && found.offset() == snapshots.first().offset() && found.epoch() == epoch;
        return oldest ? snapshots.first() : new OffsetAndEpoch(found.offset(), found.epoch());
    }

    // ---- truncation

    @Override
    public void truncateTo(long offset) {
        if (offset < highWatermark().offset())
            throw new IllegalArgumentException("the high watermark is " + highWatermark.offset() + ", and the log is to end at " + offset);
        if (offset < base) {
            restartAt(offset);
        } else if (offset < end) {
            Batch first = holding(offset);
            cut(first == null ? batches.size() : batches.indexOf(first));
            end = offset;
            start = Math.min(start, offset);
            if (highWatermark.offset() >= end)
                highWatermark = endOffset();
        }
        epochs.truncateFromEnd(Math.min(offset, end));
    }

    /** Keep so many batches. What was read before stays as it is, since the bytes that come are written elsewhere. */
    private void cut(int kept) {
        batches.subList(kept, batches.size()).clear();
        bytes = Arrays.copyOf(bytes, size());
        flushed = Math.min(flushed, kept);
    }

    private void restartAt(long offset) {
        base = offset;
        cut(0);
        start = offset;
        end = offset;
        epochs.clear();
        highWatermark = endOffset();
    }

    @Override
    public boolean truncateToLatestSnapshot() {
        int latest = epochs.isEmpty() ? 0 : epochs.latest();
        OffsetAndEpoch newest = snapshots.isEmpty() ? null : snapshots.last();
        if (newest == null || newest.epoch() < latest || newest.epoch() == latest && newest.offset() <= end)
            return false;
        restartAt(newest.offset());
        forgetBefore(newest);
        return true;
    }

    private boolean forgetBefore(OffsetAndEpoch oldest) {
        files.keySet().removeIf(each -> snapshots.contains(each) && each.compareTo(oldest) < 0);
        return snapshots.removeIf(each -> each.compareTo(oldest) < 0);
    }

    // ---- snapshots

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshot(OffsetAndEpoch id) {
        if (id.offset() < start)
            return Optional.empty();
        if (id.offset() > highWatermark().offset())
            throw new IllegalArgumentException("the high watermark is " + highWatermark.offset() + ", and a snapshot is to end at " + id);
        ValidOffsetAndEpoch valid = validateOffsetAndEpoch(id.offset(), id.epoch());
        if (valid.kind() != ValidOffsetAndEpoch.Kind.VALID)
            throw new IllegalArgumentException("a snapshot is to end at " + id + ", and the log has " + valid);
        if (read(id.offset(), Isolation.COMMITTED).startOffsetMetadata.offset() != id.offset())
            throw new IllegalArgumentException("a snapshot is to end at " + id + ", which is within a batch");
        return createNewSnapshotUnchecked(id);
    }

    @Override
    public Optional<RawSnapshotWriter> createNewSnapshotUnchecked(OffsetAndEpoch id) {
        return snapshots.contains(id) ? Optional.empty() : Optional.of(new NotifyingRawSnapshotWriter(new Writer(id), this::onSnapshotFrozen));
    }

    @Override
    public Optional<RawSnapshotReader> readSnapshot(OffsetAndEpoch id) {
        if (!files.containsKey(id))
            snapshots.remove(id);
        return snapshots.contains(id) ? Optional.of(new Reader(id, files.get(id))) : Optional.empty();
    }

    @Override
    public Optional<RawSnapshotReader> latestSnapshot() {
        return latestSnapshotId().flatMap(this::readSnapshot);
    }

    @Override
    public Optional<OffsetAndEpoch> latestSnapshotId() {
        return snapshots.isEmpty() ? Optional.empty() : Optional.of(snapshots.last());
    }

    @Override
    public Optional<OffsetAndEpoch> earliestSnapshotId() {
        return snapshots.isEmpty() ? Optional.empty() : Optional.of(snapshots.first());
    }

    @Override
    public void onSnapshotFrozen(OffsetAndEpoch id) {
        snapshots.add(id);
    }

    @Override
    public boolean deleteBeforeSnapshot(OffsetAndEpoch id) {
        if (!snapshots.contains(id) || id.offset() <= start || id.offset() > snapshots.last().offset())
            return false;
        if (id.offset() > highWatermark.offset())
            throw new OffsetOutOfRangeException("the high watermark is " + highWatermark.offset() + ", and the log is to begin at " + id.offset());
        start = id.offset();
        epochs.truncateFromStart(start);
        return forgetBefore(id);
    }

    /** No snapshot is as old, and no log as large, as `metadata.max.retention` and `metadata.max.retention.bytes` say. */
    @Override
    public boolean maybeClean() {
        return false;
    }

    private final class Writer implements RawSnapshotWriter {
        private final OffsetAndEpoch id;
        private byte[] written = new byte[256];
        private int size;
        private boolean frozen;

        Writer(OffsetAndEpoch id) {
            this.id = id;
        }

        @Override
        public OffsetAndEpoch snapshotId() {
            return id;
        }

        @Override
        public long sizeInBytes() {
            return size;
        }

        @Override
        public void append(MemoryRecords records) {
            append(records.buffer());
        }

        @Override
        public void append(UnalignedMemoryRecords records) {
            append(records.buffer());
        }

        private void append(ByteBuffer content) {
            refuseIfFrozen();
            int more = content.remaining();
            if (size + more > written.length)
                written = Arrays.copyOf(written, 2 * (size + more));
            content.get(content.position(), written, size, more);
            size += more;
        }

        private void refuseIfFrozen() {
            if (frozen)
                throw new IllegalStateException("the snapshot " + id + " is frozen");
        }

        @Override
        public boolean isFrozen() {
            return frozen;
        }

        @Override
        public void freeze() {
            refuseIfFrozen();
            frozen = true;
            files.put(id, ByteBuffer.wrap(written, 0, size));
        }

        @Override
        public void close() { }
    }

    private record Reader(OffsetAndEpoch snapshotId, ByteBuffer content) implements RawSnapshotReader {
        @Override
        public long sizeInBytes() {
            return content.limit();
        }

        @Override
        public UnalignedRecords slice(long position, int size) {
            if (position < 0 || position > content.limit() || size < 0)
                throw new IllegalArgumentException("the snapshot " + snapshotId + " has " + content.limit() + " bytes, and not " + size + " from " + position + " on");
            return new UnalignedMemoryRecords(content.slice((int) position, (int) Math.min(size, content.limit() - position)));
        }

        @Override
        public Records records() {
            return MemoryRecords.readableRecords(content.duplicate());
        }
    }

    // ---- names

    @Override
    public TopicPartition topicPartition() {
        return partition;
    }

    @Override
    public Uuid topicId() {
        return topicId;
    }

    @Override
    public void close() { }
}
