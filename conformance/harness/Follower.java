import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.errors.FencedLeaderEpochException;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.errors.UnknownLeaderEpochException;

/**
 * The follower's half of a fetch, restated from kafka.server.AbstractFetcherThread and ReplicaFetcherThread: where to fetch from, what to
 * do with the answer. Logs, epoch caches and high watermarks that it works on are real.
 */
final class Follower {
    private final Broker broker;
    int leader = -1;
    int leaderEpoch = -1;
    Map<String, Object> fetch;
    private Object records;

    Follower(Broker broker) {
        this.broker = broker;
    }

    void reset() {
        stop();
        fetch = null;
        records = null;
    }

    void stop() {
        leader = -1;
        leaderEpoch = -1;
    }

    void follow(int leader, int leaderEpoch) {
        this.leader = leader;
        this.leaderEpoch = leaderEpoch;
    }

    Map<String, Object> shown() {
        return fetch;
    }

    void lose() {
        fetch = null;
    }

    /** A whole fetch: request and answer. An answer "out of range" waits to be handled. */
    void fetch(Broker asked) {
        ask(asked);
        if (fetch != null && !fetch.get("stage").equals("out of range"))
            receive();
    }

    /** A fetch up to its answer. */
    void ask(Broker asked) {
        send();
        serve(asked);
    }

    /** Build the request. Source: kafka.server.RemoteLeaderEndPoint#buildFetch. */
    void send() {
        Object log = broker.log();
        fetch = new LinkedHashMap<>();
        fetch.put("stage", "request");
        fetch.put("leader", leader);
        fetch.put("leaderEpoch", leaderEpoch);
        fetch.put("offset", Reflect.call(log, "logEndOffset"));
        Object epoch = Scala.unwrap(Reflect.call(log, "latestEpoch"));
        fetch.put("epoch", epoch == null ? -1 : epoch);
    }

    /** Let the leader handle the request. An answer that is an error other than "out of range" does not matter. */
    void serve(Broker asked) {
        Map<String, Object> request = fetch;
        fetch = null;
        long offset = (Long) request.get("offset");
        int epoch = (Integer) request.get("leaderEpoch"), last = (Integer) request.get("epoch");
        Map<String, Object> answer = new LinkedHashMap<>(request);
        answer.put("epoch", -1);
        try {
            Object read = asked.fetch(broker.id, broker.epoch, offset, epoch, last, true);
            Object diverging = ((Optional<?>) Reflect.get(read, "divergingEpoch")).orElse(null);
            List<long[]> found = Kafka.read(Reflect.get(Reflect.get(read, "fetchedData"), "records"));
            if (diverging != null) {
                answer.put("stage", "diverging");
                answer.put("epoch", Reflect.call(diverging, "epoch"));
                answer.put("endOffset", Reflect.call(diverging, "endOffset"));
            } else if (found.isEmpty()) {
                // with nothing new the request waits; kafka.server.DelayedFetch#onComplete reads once more when it is woken
                answer.put("stage", "nothing new");
                read = asked.fetch(broker.id, broker.epoch, offset, epoch, last, false);
            } else {
                answer.put("stage", "record");
                answer.put("record", new long[] {found.get(0)[1], found.get(0)[2]});
            }
            answer.put("highWatermark", Reflect.get(read, "highWatermark"));
            answer.put("logStart", diverging == null ? Reflect.get(read, "logStartOffset") : null);
            records = Kafka.copied(Reflect.get(Reflect.get(read, "fetchedData"), "records"));
        } catch (OffsetOutOfRangeException e) {
            answer.put("stage", "out of range");
        } catch (NotLeaderOrFollowerException | FencedLeaderEpochException | UnknownLeaderEpochException e) {
            return;  // the follower backs off and asks again
        }
        fetch = answer;
    }

    /** Handle the answer. Source: AbstractFetcherThread#processFetchRequest, ReplicaFetcherThread#processPartitionData (3.5). */
    void receive() {
        Map<String, Object> answer = fetch;
        fetch = null;
        Object log = broker.log();
        boolean expected = answer.get("leader").equals(leader) && answer.get("offset").equals(Reflect.call(log, "logEndOffset"));
        if (!expected)
            return;
        if (answer.get("stage").equals("diverging")) {
            truncate(log, ((Number) answer.get("epoch")).intValue(), ((Number) answer.get("endOffset")).longValue());
            return;
        }
        Object partition = broker.partition;
        if (Reflect.byName(partition.getClass(), "appendRecordsToFollowerOrFutureReplica").getParameterCount() == 2)
            Reflect.call(partition, "appendRecordsToFollowerOrFutureReplica", records, false);
        else
            Reflect.call(partition, "appendRecordsToFollowerOrFutureReplica", records, false, leaderEpoch);
        updateHighWatermark(log, ((Number) answer.get("highWatermark")).longValue());
        Object reason = Reflect.enumOf(Reflect.type("org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason"), "LeaderOffsetIncremented");
        Reflect.call(log, "maybeIncrementLogStartOffset", answer.get("logStart"), reason);
    }

    private static void updateHighWatermark(Object log, long offset) {
        Reflect.call(log, "maybeUpdateHighWatermark", offset);
    }

    /** AbstractFetcherThread#getOffsetTruncationState. */
    private void truncate(Object log, int epoch, long endOffset) {
        long end = (Long) Reflect.call(log, "logEndOffset");
        Object own = Scala.unwrap(Reflect.call(log, "endOffsetForEpoch", epoch));
        long point;
        if (own == null)
            point = Math.min(endOffset, end);
        else {
            long ownEnd = ((Number) Reflect.get(own, "offset")).longValue();
            boolean known = ((Number) (own.getClass().isRecord() ? Reflect.call(own, "epoch") : leaderEpochOf(own))).intValue() == epoch;
            point = Math.min(known ? Math.min(ownEnd, endOffset) : ownEnd, end);
        }
        Reflect.call(broker.partition, "truncateTo", point, false);
    }

    private static Object leaderEpochOf(Object offsetAndEpoch) {
        try {
            return Reflect.get(offsetAndEpoch, "leaderEpoch");
        } catch (Reflect.Missing e) {
            return Reflect.get(offsetAndEpoch, "epoch");
        }
    }

    /** AbstractFetcherThread#fetchOffsetAndTruncate, with the leader's answers read off its log. */
    void outOfRange(Broker asked) {
        boolean late = leader != (Integer) fetch.get("leader") || !fetch.get("offset").equals(Reflect.call(broker.log(), "logEndOffset"));
        fetch = null;
        if (late)
            return;
        Object log = broker.log(), leaders = asked.log();
        long end = (Long) Reflect.call(log, "logEndOffset"), leaderEnd = (Long) Reflect.call(leaders, "logEndOffset");
        if (leaderEnd < end) {
            Reflect.call(broker.partition, "truncateTo", leaderEnd, false);
            return;
        }
        long leaderStart = (Long) Reflect.call(leaders, "logStartOffset");
        if (leaderStart > end) {
            java.lang.reflect.Method truncate = Reflect.byName(broker.partition.getClass(), "truncateFullyAndStartAt");
            Reflect.invoke(broker.partition, truncate, Reflect.supply(truncate.getParameterTypes(),
                type -> type == long.class ? (Object) leaderStart : type == boolean.class ? (Object) false : Scala.option(type, null)));
        }
    }
}
