import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * Produce and fetch requests to one broker, as KafkaApis hands them to ReplicaManager#appendRecords and #fetchMessages. What cannot be answered
 * at once waits in the purgatories of one ReplicaManager: DelayedProduce and DelayedFetch. They expire only when the checker says so.
 */
final class Requests {
    private static final Class<?> PURGATORY = Reflect.type("kafka.server.DelayedOperationPurgatory", "org.apache.kafka.server.purgatory.DelayedOperationPurgatory");
    private static final Class<?> KEY = Reflect.type("kafka.server.TopicPartitionOperationKey", "org.apache.kafka.server.purgatory.TopicPartitionOperationKey");
    private static final Object WAITED_FOR = Reflect.make(Reflect.constructor(KEY, String.class, int.class), Broker.TOPIC_PARTITION.topic(), Broker.TOPIC_PARTITION.partition());
    private static final TopicIdPartition PARTITION = new TopicIdPartition(Broker.TOPIC_ID, Broker.TOPIC_PARTITION);
    private static final long SOME_MS = 500;
    private static final Map<Class<?>, Object> UNTHROTTLED = new HashMap<>();
    private static final Map<Class<?>, Method> NO_CACHING = new HashMap<>();

    private static final List<String> WAITED_IN = List.of("DelayedProduce", "DelayedFetch", "DelayedDeleteRecords");
    private static final Map<String, Object> EMPTY = new HashMap<>();

    private final Map<String, Object> purgatories = new HashMap<>();
    /** The request that was the last to wait. */
    Object last;

    /** By record, what its producer was answered: the name of an error, NONE, or "waits". Whoever waits at a broker that stops waits on. */
    private Map<Integer, String> answers = new LinkedHashMap<>();
    private final Map<Integer, Object> waiting = new HashMap<>();
    private final Map<Long, Object[]> deletions = new LinkedHashMap<>();

    /** The answer to a consumer that waits for the record at an offset. */
    private Object[] consumed;
    boolean committed;
    private long offset;

    /**
     * A purgatory of the ReplicaManager that is about to be made, by the name of its type: an empty one, with its hundreds of lists, serves the
     * next one as well. One in which nothing ever waits is all brokers'.
     */
    Object purgatory(String name) {
        return (WAITED_IN.stream().anyMatch(name::contains) ? purgatories : EMPTY).computeIfAbsent(name, key -> made());
    }

    private Object made() {
        boolean[] reaper = {true};
        return Reflect.construct(PURGATORY, type -> {
            if (type == boolean.class) {
                boolean timer = !reaper[0];
                reaper[0] = false;
                return timer;
            }
            return type == String.class ? "none" : type == int.class ? (Object) 1 : timer(type);
        });
    }

    /** A timer of one purgatory, by which nothing expires. */
    private Object timer(Class<?> type) {
        List<Object> timed = new ArrayList<>();
        return Reflect.proxy(type, (name, arguments) -> timed(timed, name, arguments));
    }

    private Object timed(List<Object> timed, String name, Object[] arguments) {
        if (name.equals("add")) {
            last = arguments[0];
            timed.add(last);
        } else if (name.equals("size")) {
            timed.removeIf(each -> (Boolean) Reflect.call(each, "isCompleted"));
            return timed.size();
        }
        return null;
    }

    /** Begin anew: nobody waits any more. */
    void reset() {
        stopped();
        answers = new LinkedHashMap<>();
    }

    /** The process is gone, and all that waited in it. */
    void stopped() {
        for (Object each : purgatories.values())
            Reflect.call(each, "cancelForKey", WAITED_FOR);
        waiting.clear();
        deletions.clear();
        consumed = null;
    }

    Map<Integer, String> answers() {
        return new LinkedHashMap<>(answers);
    }

    /** A produce request with one batch. An error that the broker answers before it appends is thrown. */
    void append(Object replicaManager, List<Integer> sent, Object records, int acks) {
        Map<Integer, String> mine = answers;
        sent.forEach(each -> mine.put(each, "waits"));
        last = null;
        Method append = Reflect.byName(replicaManager.getClass(), "appendRecords");
        Reflect.invoke(replicaManager, append, ofAppend(replicaManager, append, Map.of(PARTITION, records), acks,
            errors -> sent.forEach(each -> mine.put(each, errors.get(Broker.TOPIC_PARTITION).name()))));
        Reflect.call(replicaManager, "tryCompleteActions");
        if (last != null)
            waiting.put(sent.get(0), last);
        String answer = mine.get(sent.get(0));
        Errors answered = answer.equals("waits") ? Errors.NONE : Errors.valueOf(answer);
        if (answered != Errors.NONE && answered != Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND) {
            sent.forEach(mine::remove);
            throw answered.exception();
        }
    }

    /** The arguments of ReplicaManager#appendRecords: a batch for each of some partitions, and who gets the errors. */
    static Object[] ofAppend(Object replicaManager, Method append, Map<TopicIdPartition, Object> records, int acks, Consumer<Map<TopicPartition, Errors>> answer) {
        Class<?>[] types = Reflect.types(append);
        String[] names = Reflect.typeNames(append);
        Object[] arguments = new Object[types.length];
        List<Class<?>> seen = new ArrayList<>();
        for (int number = 0; number < types.length; number++) {
            boolean first = !seen.contains(types[number]);
            seen.add(types[number]);
            boolean byId = names[number].contains("TopicIdPartition");
            Map<Object, Object> batches = new LinkedHashMap<>();
            records.forEach((partition, batch) -> batches.put(byId ? partition : partition.topicPartition(), batch));
            arguments[number] = ofAppend(types[number], first, batches, acks, answer);
            if (arguments[number] == null)
                arguments[number] = Reflect.call(replicaManager, "appendRecords$default$" + (number + 1));
        }
        return arguments;
    }

    /** An argument by its type, and by whether it is the first of that type; null for what has a default. */
    private static Object ofAppend(Class<?> type, boolean first, Map<Object, Object> batches, int acks, Consumer<Map<TopicPartition, Errors>> answer) {
        switch (type.getSimpleName()) {
            case "long":
                return SOME_MS;
            case "boolean":
                return false;
            case "short":
                return first ? (Object) (short) acks : (Object) (short) 0;
            case "AppendOrigin":
                return Reflect.enumOf(type, "CLIENT");
            case "Map":
                return first ? CollectionConverters.asScala(batches) : null;
            case "RequestLocal":
                return noCaching(type);
            case "Function1":
                return first ? (scala.Function1<Object, Object>) answered -> {
                    Map<TopicPartition, Errors> errors = new LinkedHashMap<>();
                    java(answered).forEach((partition, each) -> errors.put(plain(partition), (Errors) Reflect.get(each, "error")));
                    answer.accept(errors);
                    return BoxedUnit.UNIT;
                } : null;
            default:
                return null;
        }
    }

    private static Map<?, ?> java(Object map) {
        return map instanceof Map ? (Map<?, ?>) map : CollectionConverters.asJava((scala.collection.Map<?, ?>) map);
    }

    private static TopicPartition plain(Object partition) {
        return partition instanceof TopicIdPartition ? ((TopicIdPartition) partition).topicPartition() : (TopicPartition) partition;
    }

    private static Object noCaching(Class<?> requestLocal) {
        return Reflect.invoke(null, NO_CACHING.computeIfAbsent(requestLocal, type -> {
            for (Method each : type.getMethods())
                if (each.getName().equalsIgnoreCase("noCaching") && each.getParameterCount() == 0)
                    return each;
            throw new Reflect.Missing("no noCaching in " + type.getName());
        }));
    }

    /** The producer of a record has waited for too long. */
    void expire(int record) {
        Object delayed = waiting.remove(record);
        if (delayed == null)
            throw new IllegalStateException("no producer waits for r" + record);
        Reflect.call(delayed, "run");
    }

    /** What those are answered who wait for records to be deleted below an offset, by that offset: "waits", or an error's name, which is shown once. */
    Map<Long, String> deletions() {
        Map<Long, String> shown = new LinkedHashMap<>();
        deletions.forEach((offset, answer) -> shown.put(offset, answer[0] == null ? "waits" : errorOf(answer).name()));
        deletions.values().removeIf(answer -> answer[0] != null);
        return shown;
    }

    /** DeleteRecords up to an offset, which it waits for until the followers have moved their log start, too. An error is thrown. */
    void deleteRecords(Object replicaManager, long offset, long reached) {
        Object[] answer = {null};
        deletions.put(reached, answer);
        Errors error = deleted(replicaManager, Broker.TOPIC_PARTITION, offset, answer);
        if (error != Errors.NONE)
            throw error.exception();
    }

    /** The error that DeleteRecords is answered with; none if it is not answered yet. */
    static Errors deleted(Object replicaManager, TopicPartition partition, long offset, Object[] answer) {
        scala.Function1<Object, Object> callback = answered -> {
            answer[0] = java(answered).values().iterator().next();
            return BoxedUnit.UNIT;
        };
        Method delete = Reflect.byName(replicaManager.getClass(), "deleteRecords");
        Object offsets = CollectionConverters.asScala(Map.of(partition, offset));
        Reflect.invoke(replicaManager, delete, Reflect.supply(Reflect.types(delete), type ->
            type == long.class ? (Object) SOME_MS : type == boolean.class ? (Object) false : type == scala.Function1.class ? callback : offsets));
        return answer[0] == null ? Errors.NONE : errorOf(answer);
    }

    private static Errors errorOf(Object[] answerToDeletion) {
        return Errors.forCode((Short) Reflect.call(answerToDeletion[0], "errorCode"));
    }

    /** The offset that ListOffsets finds for a follower by one of its special timestamps. An error is thrown. */
    static long offset(Object replicaManager, long timestamp, int leaderEpoch) {
        Object found = Reflect.call(replicaManager, "fetchOffsetForTimestamp", Broker.TOPIC_PARTITION, timestamp, scala.Option.empty(),
            Optional.of(leaderEpoch), true);
        Object held = Scala.unwrap(found);
        if (held.getClass().getSimpleName().equals("OffsetResultHolder"))
            held = Scala.unwrap(Reflect.call(held, "timestampAndOffsetOpt"));
        return (Long) Reflect.get(held, "offset");
    }

    /** A fetch by a follower, or by a consumer (replica -1), and its FetchPartitionData. One that finds nothing waits for as long as it may. */
    Object fetch(Object replicaManager, int replica, long brokerEpoch, FetchRequest.PartitionData asked) {
        last = null;
        Object[] answer = fetched(replicaManager, replica, brokerEpoch, asked);
        if (answer[0] == null)
            Reflect.call(last, "run");
        Reflect.call(replicaManager, "tryCompleteActions");
        return answer[0];
    }

    /**
     * A consumer waits for the record behind the high watermark, until something wakes it; unless one waits already. It names the leader epoch, and
     * that of the record before, as far as the broker has one (KIP-320). Every second one reads what transactions have committed: without these, the same.
     */
    void consume(Object replicaManager, long highWatermark, int leaderEpoch, Object log) {
        if (consumed != null)
            return;
        offset = highWatermark;
        Optional<Integer> last = Optional.empty();
        for (Object each : Scala.collection(Reflect.call(Scala.unwrap(Reflect.call(log, "leaderEpochCache")), "epochEntries")))
            if (((Number) Reflect.get(each, "startOffset")).longValue() < offset)
                last = Optional.of(((Number) Reflect.get(each, "epoch")).intValue());
        committed = !committed;
        Object parameters = Kafka.fetchParams(-1, -1, SOME_MS, committed ? "TXN_COMMITTED" : "HIGH_WATERMARK");
        consumed = fetched(replicaManager, PARTITION, parameters, new FetchRequest.PartitionData(Broker.TOPIC_ID, offset, 0, 1, Optional.of(leaderEpoch), last));
    }

    /** The offset for which a consumer waits, and the record that it got, or null; shown once. Null if it was woken for nothing. */
    List<Object> consumer() {
        if (consumed == null || consumed[0] == null)
            return consumed == null ? null : Arrays.asList(offset, null);
        Long read = Kafka.readAt(Reflect.get(consumed[0], "records"), offset);
        consumed = null;
        return read == null ? null : Arrays.asList(offset, read);
    }

    /** What a consumer that waits for nothing reads at an offset, in the leader epoch that it names, if any. */
    static Object read(Object replicaManager, long offset, Optional<Integer> leaderEpoch, boolean ofLeader) {
        Object parameters = Kafka.fetchParams(-1, -1, 0, "HIGH_WATERMARK", 1, ofLeader ? Optional.empty() : Optional.of(Kafka.CONSUMER));
        return fetched(replicaManager, PARTITION, parameters, new FetchRequest.PartitionData(Broker.TOPIC_ID, offset, 0, 1, leaderEpoch, Optional.empty()))[0];
    }

    /** The answer to a fetch, once there is one. */
    private static Object[] fetched(Object replicaManager, int replica, long brokerEpoch, FetchRequest.PartitionData asked) {
        return fetched(replicaManager, PARTITION, Kafka.fetchParams(replica, brokerEpoch, SOME_MS), asked);
    }

    static Object[] fetched(Object replicaManager, TopicIdPartition partition, Object parameters, FetchRequest.PartitionData asked) {
        Object[] answer = {null};
        fetch(replicaManager, parameters, Map.of(partition, asked), answered -> answer[0] = answered.get(partition.topicPartition()));
        return answer;
    }

    /** A fetch from some partitions, and who gets each one's FetchPartitionData. */
    static void fetch(Object replicaManager, Object parameters, Map<TopicIdPartition, FetchRequest.PartitionData> asked, Consumer<Map<TopicPartition, Object>> answer) {
        scala.Function1<Object, Object> callback = answered -> {
            Map<TopicPartition, Object> found = new LinkedHashMap<>();
            for (Object each : Scala.collection(answered))
                found.put(plain(((scala.Tuple2<?, ?>) each)._1()), ((scala.Tuple2<?, ?>) each)._2());
            answer.accept(found);
            return BoxedUnit.UNIT;
        };
        List<Object> pairs = new ArrayList<>();
        asked.forEach((partition, data) -> pairs.add(new scala.Tuple2<>(partition, data)));
        Method fetch = Reflect.byName(replicaManager.getClass(), "fetchMessages");
        Reflect.invoke(replicaManager, fetch, Reflect.supply(Reflect.types(fetch), type -> {
            switch (type.getSimpleName()) {
                case "FetchParams":
                    return parameters;
                case "Seq":
                    return Scala.list(pairs);
                case "Function1":
                    return callback;
                default:
                    return UNTHROTTLED.computeIfAbsent(type, quota -> Reflect.proxy(quota, (name, arguments) -> null));
            }
        }));
    }
}
