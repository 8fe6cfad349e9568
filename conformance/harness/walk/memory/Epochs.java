package org.apache.kafka.raft;

import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/** Where each leader epoch begins in a log: the rules of Kafka's LeaderEpochFileCache (3.9 to 4.4), whose file is written at each change. */
final class Epochs {
    /** An epoch and the offset after its last record. */
    record End(int epoch, long offset) { }

    private final TreeMap<Integer, Long> starts = new TreeMap<>();

    boolean isEmpty() {
        return starts.isEmpty();
    }

    int latest() {
        return starts.lastKey();
    }

    /** An epoch begins at an offset. Whatever does not come before it is forgotten. */
    void assign(int epoch, long start) {
        Map.Entry<Integer, Long> last = starts.lastEntry();
        if (last != null && last.getKey() == epoch && start >= last.getValue())
            return;
        while (last != null && (last.getKey() >= epoch || last.getValue() >= start)) {
            starts.pollLastEntry();
            last = starts.lastEntry();
        }
        starts.put(epoch, start);
    }

    /** The end of the newest epoch up to this one, in a log that ends at an offset; null if no epoch is as new. */
    End end(int epoch, long logEnd) {
        if (!isEmpty() && latest() == epoch)
            return new End(epoch, logEnd);
        Map.Entry<Integer, Long> next = epoch < 0 ? null : starts.higherEntry(epoch);
        if (next == null)
            return null;
        Integer floor = starts.floorKey(epoch);
        return new End(floor == null ? epoch : floor, next.getValue());
    }

    void truncateFromEnd(long end) {
        while (!isEmpty() && starts.lastEntry().getValue() >= end)
            starts.pollLastEntry();
    }

    /** The epoch of an offset begins there now, and those before it are forgotten. */
    void truncateFromStart(long start) {
        int epoch = -1;
        for (Iterator<Map.Entry<Integer, Long>> each = starts.entrySet().iterator(); each.hasNext(); each.remove()) {
            Map.Entry<Integer, Long> first = each.next();
            if (first.getValue() > start)
                break;
            epoch = first.getKey();
        }
        if (epoch >= 0)
            starts.put(epoch, start);
    }

    void clear() {
        starts.clear();
    }
}
