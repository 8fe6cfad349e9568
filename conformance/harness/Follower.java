import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The follower's half of a fetch: Kafka's ReplicaFetcherThread, one per leader, whose doWork is called by hand. Its end point hands requests
 * over and waits for answers, so that anything can happen while a request or an answer travels.
 */
final class Follower {
    private static final Class<?> THREAD = Reflect.type("kafka.server.ReplicaFetcherThread");
    private static final Class<?> END_POINT = Reflect.type("kafka.server.LeaderEndPoint", "org.apache.kafka.server.LeaderEndPoint");
    private static final Class<?> BROKER_END_POINT = Reflect.type("kafka.cluster.BrokerEndPoint", "org.apache.kafka.server.network.BrokerEndPoint");
    private static final Class<?> FETCH = Reflect.type("kafka.server.AbstractFetcherThread$ReplicaFetch", "org.apache.kafka.server.ReplicaFetch");
    private static final Class<?> RESULT = Reflect.type("kafka.server.AbstractFetcherThread$ResultWithPartitions", "org.apache.kafka.server.ResultWithPartitions");
    private static final Class<?> OFFSET_AND_EPOCH = Reflect.type("org.apache.kafka.server.common.OffsetAndEpoch");
    private static final Class<?> BROKER_AND_FETCHER = Reflect.type("kafka.server.BrokerIdAndFetcherId");
    private static final Class<?> FETCH_STATE = Reflect.type("kafka.server.PartitionFetchState", "org.apache.kafka.server.PartitionFetchState");
    private static final Class<?> STATE = Reflect.type("kafka.server.ReplicaState", "org.apache.kafka.server.ReplicaState");
    private static final boolean JAVA_MAPS = Reflect.byName(END_POINT, "fetch").getReturnType() == Map.class;
    private static final int SECONDS = 600;
    private static final List<Errors> UNANSWERED = List.of(Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_ID, Errors.INCONSISTENT_TOPIC_ID,
        Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_LEADER_EPOCH, Errors.KAFKA_STORAGE_ERROR);
    private static final List<Errors> NOT_LOOKED_UP = List.of(Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_LEADER_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.KAFKA_STORAGE_ERROR);
    private static final int LOOK_UPS = 2;
    static final String HOST = "nowhere";
    private static final ExecutorService RUNNERS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });

    private final Broker broker;
    private final Map<Integer, Object> threads = new LinkedHashMap<>();
    private Object manager;

    /** What travels, as it is shown; the answer that goes with it, and who waits for it. */
    private Map<String, Object> fetch;
    private FetchResponseData.PartitionData answer;
    private Travelling waiting;
    private Broker atOnce;
    private Broker looksUp;
    /** The error of a look-up that fails once, and how many of them are left up to that one. */
    private Errors refusal;
    private int lookUpsLeft;
    int spoilings;

    /** A call of doWork that waits for its answer in a thread of its own. */
    private final class Travelling {
        final SynchronousQueue<Object> answers = new SynchronousQueue<>();
        final SynchronousQueue<Object> events = new SynchronousQueue<>();

        Travelling(Object thread) {
            current = this;
            RUNNERS.execute(() -> {
                Object event = "ended";
                try {
                    Reflect.call(thread, "doWork");
                } catch (Throwable e) {
                    event = e;
                }
                put(events, event);
            });
        }
    }

    private static volatile Travelling current;

    Follower(Broker broker) {
        this.broker = broker;
    }

    private static void put(SynchronousQueue<Object> queue, Object value) {
        try {
            if (!queue.offer(value, SECONDS, TimeUnit.SECONDS))
                throw new IllegalStateException("nobody waits for " + value);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** However long that takes: between two claims the process may have nothing to do for an hour, with a fetch in flight. */
    private static Object answerTo(Travelling mine) {
        try {
            return mine.answers.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object take(SynchronousQueue<Object> queue) {
        try {
            Object value = queue.poll(SECONDS, TimeUnit.SECONDS);
            if (value == null)
                throw new IllegalStateException("the fetcher thread neither asks nor ends");
            return value;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The process is gone, and its fetchers with it. */
    void reset() {
        lose();
        manager = null;
        threads.clear();
    }

    /** The process ends in order. */
    void shutDown() {
        lose();
        Reflect.call(Reflect.call(broker.replicaManager(), "replicaFetcherManager"), "shutdown");
    }

    /** Take the partition from all fetchers. */
    void stop() {
        if (manager != null)
            Reflect.call(manager, "removeFetcherForPartitions", Scala.set(Set.of(Broker.TOPIC_PARTITION)));
    }

    /**
     * Let Kafka's ReplicaFetcherManager find a fetcher for a leader, which AbstractFetcherManager#addFetcherForPartitions takes instead of
     * making and starting one of its own.
     */
    void prepare(int leader) {
        if (manager == null)
            manager = Reflect.call(broker.replicaManager(), "replicaFetcherManager");
        if (leader < 0 || leader == broker.id || threads.containsKey(leader))
            return;
        Object thread = thread(leader);
        threads.put(leader, thread);
        int fetcherId = (Integer) Reflect.call(manager, "getFetcherId", Broker.TOPIC_PARTITION);
        Object key = Reflect.make(Reflect.constructor(BROKER_AND_FETCHER, int.class, int.class), leader, fetcherId);
        Reflect.call(Reflect.read(manager, "fetcherThreadMap"), "put", key, thread);
        anotherPartition(thread);
    }

    /** Each fetcher has another partition of the same leader, so that it goes on when this one is taken from it. */
    private void anotherPartition(Object thread) {
        Object fetching = STATE.isEnum() ? Reflect.enumOf(STATE, "FETCHING") : Reflect.constant(Reflect.type("kafka.server.Fetching$"), "MODULE$");
        Object state = Reflect.construct(FETCH_STATE, type -> {
            if (type == STATE)
                return fetching;
            return type == long.class ? (Object) 0L : type == int.class ? (Object) 0 : Scala.option(type, null);
        });
        Reflect.call(Reflect.read(thread, "partitionStates"), "updateAndMoveToEnd", new TopicPartition("another", 0), state);
    }

    private static Object endPointOf(int leader) {
        return Reflect.construct(BROKER_END_POINT, type -> type == String.class ? HOST : leader);
    }

    private Object thread(int leader) {
        return Reflect.construct(THREAD, type -> {
            if (type == END_POINT)
                return Reflect.proxy(END_POINT, (name, arguments) -> asked(leader, name, arguments));
            switch (type.getSimpleName()) {
                case "String":
                    return "fetcher " + broker.id + " from " + leader;
                case "KafkaConfig":
                    return broker.config();
                case "ReplicaManager":
                    return broker.replicaManager();
                case "ReplicaQuota":
                    // every second broker's fetches are throttled, but within their quota
                    return Reflect.proxy(type, (name, arguments) -> name.equals("isThrottled") ? (Object) (broker.id % 2 == 1) : null);
                case "FailedPartitions":
                    return Reflect.construct(type, p -> null);
                default:
                    return (scala.Function0<Object>) Kafka::metadataVersion;
            }
        });
    }

    /** The end point of one leader, as its fetcher calls it. */
    private Object asked(int leader, String name, Object[] arguments) {
        switch (name) {
            case "isTruncationOnFetchSupported":
                return true;
            case "brokerEndPoint":
                return endPointOf(leader);
            case "initiateClose":
            case "close":
                return null;
            case "buildFetch":
                return buildFetch(leader, arguments[0]);
            case "fetch":
                return exchange();
            case "fetchLatestOffset":
                return lookedUp((Integer) arguments[1], ListOffsetsRequest.LATEST_TIMESTAMP);
            case "fetchEarliestOffset":
                return lookedUp((Integer) arguments[1], ListOffsetsRequest.EARLIEST_TIMESTAMP);
            case "fetchEarliestLocalOffset":
                return lookedUp((Integer) arguments[1], ListOffsetsRequest.EARLIEST_LOCAL_TIMESTAMP);
            default:
                throw new UnsupportedOperationException(name);
        }
    }

    /** RemoteLeaderEndPoint#buildFetch for one partition, without throttling. */
    private Object buildFetch(int leader, Object partitions) {
        Map<?, ?> states = partitions instanceof Map ? (Map<?, ?>) partitions : CollectionConverters.asJava((scala.collection.Map<?, ?>) partitions);
        Object state = states.get(Broker.TOPIC_PARTITION);
        Object built = null;
        if (state != null && (Boolean) Reflect.call(state, "isReadyForFetch")) {
            long offset = (Long) Reflect.call(state, "fetchOffset");
            int epoch = (Integer) Reflect.call(state, "currentLeaderEpoch");
            Object last = Scala.unwrap(Reflect.call(state, "lastFetchedEpoch"));
            fetch = new LinkedHashMap<>();
            fetch.put("stage", "request");
            fetch.put("leader", leader);
            fetch.put("leaderEpoch", epoch);
            fetch.put("offset", offset);
            fetch.put("epoch", last == null ? -1 : last);
            long start = (Long) Reflect.call(broker.log(), "logStartOffset");
            fetch.put("start", start);
            Map<TopicPartition, FetchRequest.PartitionData> asked = Map.of(Broker.TOPIC_PARTITION, new FetchRequest.PartitionData(
                Broker.TOPIC_ID, offset, start, 1, Optional.of(epoch), Optional.ofNullable((Integer) last)));
            FetchRequest.Builder request = FetchRequest.Builder.forReplica((short) 13, broker.id, broker.epoch, 0, 1, asked);
            built = Reflect.construct(FETCH, type -> type == Map.class ? asked : request);
        }
        Object result = built;
        return Reflect.construct(RESULT, type -> type == Object.class ? (JAVA_MAPS ? Optional.ofNullable(result) : scala.Option.apply(result))
            : type == Set.class ? Set.of() : Scala.set(Set.of()));
    }

    /** Hand the request over, and wait for the answer. */
    private Object exchange() {
        Object found;
        if (atOnce != null) {
            serve(atOnce);
            if (fetch == null || fetch.get("stage").equals("out of range"))
                found = new IOException("comes later");
            else
                found = answer;
            fetch = fetch != null && fetch.get("stage").equals("out of range") ? fetch : null;
        } else {
            Travelling mine = current;
            put(mine.events, "asks");
            found = answerTo(mine);
        }
        if (found instanceof IOException)
            throw new org.apache.kafka.common.KafkaException(((IOException) found).getMessage());
        Map<TopicPartition, Object> answers = Map.of(Broker.TOPIC_PARTITION, found);
        return JAVA_MAPS ? answers : CollectionConverters.asScala(answers);
    }

    /** ListOffsets of the leader that is asked where its log begins or ends, in the follower's leader epoch. */
    private Object lookedUp(int epoch, long timestamp) {
        if (refusal != null && --lookUpsLeft == 0) {
            Errors error = refusal;
            refusal = null;
            throw error.exception();
        }
        long found = Requests.offset(looksUp.replicaManager(), timestamp, epoch);
        return Reflect.construct(OFFSET_AND_EPOCH, type -> type == long.class ? (Object) found : (Object) epoch);
    }

    Map<String, Object> shown() {
        return fetch == null ? null : new LinkedHashMap<>(fetch);
    }

    /** The thread that fetches the partition, or null. */
    private Object fetcher() {
        return manager == null ? null : Scala.unwrap(Reflect.call(manager, "getFetcher", Broker.TOPIC_PARTITION));
    }

    /** From where that thread fetches, or null. */
    private Object fetchState() {
        Object thread = fetcher();
        return thread == null ? null : Scala.unwrap(Reflect.call(thread, "fetchState", Broker.TOPIC_PARTITION));
    }

    private Object current() {
        Object thread = fetcher();
        if (thread == null)
            throw new IllegalStateException("the broker follows nobody");
        return thread;
    }

    /** Request and answer in one step. An answer "out of range" waits until it is handled. */
    void fetch(Broker asked) {
        lose();
        atOnce = asked;
        try {
            Reflect.call(current(), "doWork");
        } finally {
            atOnce = null;
        }
    }

    /** A fetch up to its answer. */
    void ask(Broker asked) {
        send();
        serve(asked);
    }

    /** Let the fetcher send a request. An answer that the model has dropped arrives before: it must not matter. */
    void send() {
        if (waiting != null)
            receive();
        waiting = new Travelling(current());
        Object event = take(waiting.events);
        if (!event.equals("asks")) {
            waiting = null;
            fetch = null;
            throw new IllegalStateException("the fetcher does not fetch: " + event);
        }
    }

    /** Let the leader handle the request. */
    void serve(Broker asked) {
        Map<String, Object> request = fetch;
        long offset = (Long) request.get("offset");
        int epoch = (Integer) request.get("leaderEpoch"), last = (Integer) request.get("epoch");
        Map<String, Object> shown = new LinkedHashMap<>(request);
        shown.put("epoch", -1);
        answer = new FetchResponseData.PartitionData().setPartitionIndex(0);
        Object read = asked.fetch(broker.id, broker.epoch, offset, (Long) request.get("start"), epoch, last);
        Errors error = (Errors) Reflect.get(read, "error");
        answer.setErrorCode(error.code());
        if (error == Errors.OFFSET_OUT_OF_RANGE) {
            shown.put("stage", "out of range");
        } else if (error != Errors.NONE) {
            if (waiting != null)
                receive();  // the follower backs off and asks again
            fetch = null;
            return;
        } else {
            answered(read, shown);
        }
        fetch = shown;
    }

    /** Show an answer without an error, and keep it for the fetcher. */
    private void answered(Object read, Map<String, Object> shown) {
        Object diverging = ((Optional<?>) Reflect.get(read, "divergingEpoch")).orElse(null);
        Object data = Reflect.get(read, "records");
        List<long[]> found = Kafka.read(data);
        if (diverging != null) {
            shown.put("stage", "diverging");
            shown.put("epoch", Reflect.call(diverging, "epoch"));
            shown.put("endOffset", Reflect.call(diverging, "endOffset"));
            answer.setDivergingEpoch((FetchResponseData.EpochEndOffset) diverging);
        } else if (found.isEmpty()) {
            shown.put("stage", "nothing new");
        } else {
            shown.put("stage", "record");
            shown.put("records", found.stream().map(each -> List.of(each[1], each[2])).collect(Collectors.toList()));
        }
        shown.put("highWatermark", Reflect.get(read, "highWatermark"));
        shown.put("logStart", Reflect.get(read, "logStartOffset"));
        answer.setHighWatermark((Long) Reflect.get(read, "highWatermark")).setLogStartOffset((Long) Reflect.get(read, "logStartOffset"));
        Reflect.call(answer, "setRecords", Kafka.copied(data));
    }

    /** Hand the answer over, and let the fetcher do with it what it does. */
    void receive() {
        fetch = null;
        if (waiting == null)
            return;
        Travelling mine = waiting;
        waiting = null;
        put(mine.answers, answer);
        Object event = take(mine.events);
        if (event instanceof Throwable)
            throw Reflect.sneak((Throwable) event);
    }

    /** The request or the answer is lost: the fetcher sees a broken connection. */
    void lose() {
        fetch = null;
        if (waiting == null)
            return;
        Travelling mine = waiting;
        waiting = null;
        put(mine.answers, new IOException("lost"));
        take(mine.events);
    }

    /** The same, and then answers that are lost in other ways: the fetcher must ask again after each of them. */
    void loseInAllWays() {
        boolean fetches = waiting != null && isExpected();
        lose();
        if (!fetches)
            return;
        for (Errors each : UNANSWERED)
            answerNextWith(new FetchResponseData.PartitionData().setPartitionIndex(0).setErrorCode(each.code()));
        FetchResponseData.PartitionData damaged = new FetchResponseData.PartitionData().setPartitionIndex(0);
        Reflect.call(damaged, "setRecords", Kafka.damaged());
        answerNextWith(damaged);
    }

    /** What the thread cannot take: in turn, an answer without records where some must be, and one by which it should truncate to no offset at all. */
    void spoil() {
        lose();
        Object thread = fetcher();
        if (thread == null)
            return;
        FetchResponseData.PartitionData spoilt = new FetchResponseData.PartitionData().setPartitionIndex(0);
        if (spoilings++ % 2 == 0)
            Reflect.call(spoilt, "setRecords", Reflect.proxy(Reflect.types(Reflect.method(spoilt.getClass(), "setRecords", 1))[0], (name, arguments) -> null));
        else
            spoilt.setDivergingEpoch(new FetchResponseData.EpochEndOffset().setEpoch(0).setEndOffset(-2));
        answerNextWith(spoilt);
        if (Scala.collection(Reflect.call(thread, "partitions")).contains(Broker.TOPIC_PARTITION))
            throw new IllegalStateException("the fetcher goes on");
    }

    private void answerNextWith(FetchResponseData.PartitionData next) {
        send();
        answer = next;
        receive();
    }

    /** Whether the fetcher of the broker's present leader waits for an answer to what it asked. */
    private boolean isExpected() {
        Object thread = fetcher(), state = fetch == null ? null : fetchState();
        return state != null && threads.get(fetch.get("leader")) == thread && fetch.get("leaderEpoch").equals(Reflect.call(state, "currentLeaderEpoch"))
            && fetch.get("offset").equals(Reflect.call(state, "fetchOffset"));
    }

    /** Hand over the answer that the offset is out of range; the fetcher asks where the leader's log ends and then, if need be, begins: each in vain at first. */
    void outOfRange(Broker asked) {
        looksUp = asked;
        FetchResponseData.PartitionData kept = answer;
        boolean expected = isExpected();
        if (expected)
            for (int lookUp = 1; lookUp <= LOOK_UPS; lookUp++)
                for (Errors each : NOT_LOOKED_UP)
                    if (!deliverInVain(kept, each, lookUp))
                        return;
        deliver(kept, expected);
    }

    /**
     * Let one of the look-ups fail: the follower must change nothing, and send the same request again.
     *
     * @return whether there was such a look-up; else the answer was handled
     */
    private boolean deliverInVain(FetchResponseData.PartitionData outOfRange, Errors error, int lookUp) {
        Object before = kept();
        refusal = error;
        lookUpsLeft = lookUp;
        deliver(outOfRange, true);
        boolean failed = refusal == null;
        refusal = null;
        if (failed && !before.equals(kept()))
            throw new IllegalStateException("look-up " + lookUp + " ends with " + error + ", and the follower goes from " + before + " to " + kept());
        return failed;
    }

    /** What a follower keeps that could not look up where its leader's log begins or ends: its log, and what it fetches from where. */
    private Object kept() {
        Object state = fetchState();
        List<Object> kept = new ArrayList<>();
        for (String name : new String[] {"fetchOffset", "currentLeaderEpoch", "lastFetchedEpoch"})
            kept.add(state == null ? "nothing" : Scala.unwrap(Reflect.call(state, name)));
        for (String name : new String[] {"logStartOffset", "logEndOffset", "highWatermark"})
            kept.add(Reflect.call(broker.log(), name));
        for (Object each : Scala.collection(Reflect.call(Scala.unwrap(Reflect.call(broker.log(), "leaderEpochCache")), "epochEntries")))
            kept.add(each);
        return kept;
    }

    /** Hand the answer over to the fetcher, which asks once more if it waits for none; whether it must. */
    private void deliver(FetchResponseData.PartitionData outOfRange, boolean asks) {
        if (waiting == null) {
            fetch = null;
            atOnce = null;
            waiting = new Travelling(current());
            if (!take(waiting.events).equals("asks")) {
                waiting = null;
                if (asks)
                    throw new IllegalStateException("the fetcher does not ask again");
                return;
            }
        }
        answer = outOfRange;
        receive();
    }
}
