import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;

/**
 * Produce and fetch requests to one broker over several partitions, by lines of JSON: operations in, what is seen after each of them out.
 *
 * The broker's ReplicaManager is real, with its Partitions, logs and purgatories. Each partition is a topic, so that it can be deleted alone; every
 * run has topics of its own. Of its four replicas the broker is 0. Broker 1 is in each ISR, 2 if there are enough, and 3 is the follower that is
 * asked about. Nothing expires, and nothing is fetched from another leader, unless an operation says so.
 */
public final class SeveralPartitions {
    private static final int ME = 0, ALWAYS = 1, SOMETIMES = 2, FETCHES = 3, ENOUGH = 3, ELSEWHERE = -1, MOST_BYTES = 1 << 20;
    private static final long NO_EPOCH = 0, WAITS_MS = 500;
    private static final int RECORD_BYTES = (Integer) Reflect.call(Kafka.batch(List.of(0), 0), "sizeInBytes");

    /** One partition, as the controller has it. */
    private static final class Hosted {
        final TopicIdPartition id;
        boolean leads = true, exists = true, enough = true;
        int leaderEpoch, partitionEpoch;

        Hosted(TopicIdPartition id) {
            this.id = id;
        }
    }

    /** A request: what waits for it in a purgatory, and what has come of each partition, null until it is answered. */
    private static final class Asked {
        Object waits;
        Map<String, Object> answer;
    }

    private final Clock clock = new Clock();
    private final Broker broker;
    private final Object replicaManager;
    private final List<Hosted> hosted = new ArrayList<>();
    private final Map<String, Asked> asked = new LinkedHashMap<>();
    private Object image = Reflect.constant(Reflect.type("org.apache.kafka.image.MetadataImage"), "EMPTY");
    private int topics;

    private SeveralPartitions(File folder) {
        Properties topicConfig = new Properties();
        topicConfig.setProperty("segment.index.bytes", "1024");
        topicConfig.setProperty("retention.ms", "-1");
        topicConfig.setProperty("file.delete.delay.ms", "0");
        topicConfig.setProperty("min.insync.replicas", String.valueOf(ENOUGH));
        broker = new Broker(ME, clock, new File(folder, "b"), topicConfig);
        broker.proposals.add(new Broker.Proposal(null, NO_EPOCH));  // which waits for ever: ISRs change by the controller alone
        replicaManager = broker.replicaManager();
    }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> new SeveralPartitions(new File(arguments[0]))::after);
    }

    private Object after(JsonNode o) {
        clock.advance(2 * Clock.LAG_MAX_MS);  // nobody has caught up of late: the high watermark waits for the ISR alone
        Hosted one = o.has("partition") ? hosted.get(o.get("partition").asInt()) : null;
        switch (o.get("do").asText()) {
            case "begin":
                begin(o.get("partitions").asInt());
                break;
            case "produce":
                produce(o);
                break;
            case "fetch":
                fetch(o);
                break;
            case "expire":
                expire(asked.get(o.get("kind").asText()));
                break;
            case "commit":
                commit(one);
                break;
            case "change_isr":
                one.enough = !one.enough;
                learn(one);
                break;
            case "lose_leadership":
                loseLeadership(one, o.get("kept").asInt());
                break;
            case "write_elsewhere":
                writeElsewhere(one);
                break;
            case "lead_again":
                one.leads = true;
                one.leaderEpoch++;
                learn(one);
                break;
            case "stop":
                stop(one);
                break;
            default:
                throw new IllegalArgumentException("no operation " + o);
        }
        return seen();
    }

    // Partitions

    private void begin(int partitions) {
        asked.values().forEach(SeveralPartitions::expire);
        hosted.stream().filter(each -> each.exists).forEach(this::stop);
        broker.deleteFiles();
        hosted.clear();
        asked.clear();
        asked.put("produce", new Asked());
        asked.put("fetch", new Asked());
        for (int number = 0; number < partitions; number++) {
            topics++;
            hosted.add(new Hosted(new TopicIdPartition(new Uuid(3, topics), new TopicPartition("t" + topics, 0))));
            learn(hosted.get(number));
        }
    }

    /** The broker reads what the controller has decided of a partition. */
    private void learn(Hosted one) {
        List<Integer> isr = one.leads ? (one.enough ? List.of(ME, ALWAYS, SOMETIMES) : List.of(ME, ALWAYS)) : List.of(ALWAYS);
        broker.follower.prepare(one.leads ? ME : ALWAYS);
        List<Object> records = new ArrayList<>();
        if (one.partitionEpoch == 0)
            records.add(Kafka.record("TopicRecord", "setName", one.id.topic(), "setTopicId", one.id.topicId()));
        records.add(Kafka.record("PartitionRecord", "setPartitionId", 0, "setTopicId", one.id.topicId(), "setReplicas", List.of(ME, ALWAYS, SOMETIMES, FETCHES),
            "setIsr", isr, "setLeader", one.leads ? ME : ALWAYS, "setLeaderEpoch", one.leaderEpoch, "setPartitionEpoch", one.partitionEpoch++));
        read(records);
    }

    private void stop(Hosted one) {
        one.exists = false;
        read(List.of(Kafka.record("RemoveTopicRecord", "setTopicId", one.id.topicId())));
    }

    /** As BrokerMetadataPublisher does: first the metadata cache, then the replicas. */
    private void read(List<Object> records) {
        List<Kafka.Registration> brokers = new ArrayList<>();
        for (int id = ME; id <= FETCHES; id++)
            brokers.add(new Kafka.Registration(id, NO_EPOCH, false, false));
        Object delta = Kafka.deltaWith(image, brokers);
        Kafka.replay(delta, Kafka.record("FeatureLevelRecord", "setName", "metadata.version", "setFeatureLevel", Kafka.featureLevel()));
        records.forEach(each -> Kafka.replay(delta, each));
        image = Kafka.applied(delta);
        Reflect.call(Reflect.read(replicaManager, "metadataCache"), "setImage", image);
        Reflect.call(replicaManager, "applyDelta", Reflect.call(delta, "topicsDelta"), image);
    }

    private Object partition(Hosted one) {
        return Scala.unwrap(Reflect.call(replicaManager, "onlinePartition", one.id.topicPartition()));
    }

    private Object log(Hosted one) {
        return Scala.unwrap(Reflect.call(partition(one), "log"));
    }

    private long end(Hosted one) {
        return (Long) Reflect.call(log(one), "logEndOffset");
    }

    /** The ISR fetches behind the next record. */
    private void commit(Hosted one) {
        long next = (Long) Reflect.call(log(one), "highWatermark") + 1;
        for (int follower : one.enough ? new int[] {ALWAYS, SOMETIMES} : new int[] {ALWAYS})
            Requests.fetch(replicaManager, Kafka.fetchParams(follower, NO_EPOCH, 0), Map.of(one.id, from(one, next)), answered -> { });
    }

    /** Another leader has some of the records that were not committed, and commits them. The fetcher cuts the others off. */
    private void loseLeadership(Hosted one, int kept) {
        long committed = (Long) Reflect.call(log(one), "highWatermark") + kept;
        one.leads = false;
        one.leaderEpoch++;
        learn(one);
        Reflect.call(partition(one), "truncateTo", committed, false);
        Reflect.call(log(one), "updateHighWatermark", committed);
    }

    /** The fetcher appends a record of another leader, which has committed it. */
    private void writeElsewhere(Hosted one) {
        Object records = Kafka.batch(List.of(ELSEWHERE), clock.milliseconds());
        for (Object batch : (Iterable<?>) Reflect.call(records, "batches")) {
            Reflect.call(batch, "setLastOffset", end(one));
            Reflect.call(batch, "setPartitionLeaderEpoch", one.leaderEpoch);
        }
        Method append = Reflect.byName(partition(one).getClass(), "appendRecordsToFollowerOrFutureReplica");
        Reflect.invoke(partition(one), append, Reflect.supply(Reflect.types(append), type ->
            type == boolean.class ? (Object) false : type == int.class ? (Object) one.leaderEpoch : records));
        Reflect.call(log(one), "updateHighWatermark", end(one));
    }

    // Requests

    private List<Hosted> of(JsonNode operation) {
        List<Hosted> found = new ArrayList<>();
        operation.get("partitions").forEach(each -> found.add(hosted.get(each.asInt())));
        return found;
    }

    private void produce(JsonNode o) {
        Map<TopicIdPartition, Object> batches = new LinkedHashMap<>();
        of(o).forEach(each -> batches.put(each.id, Kafka.batch(List.of(o.get("record").asInt()), clock.milliseconds())));
        Method append = Reflect.byName(replicaManager.getClass(), "appendRecords");
        ask("produce", request -> Reflect.invoke(replicaManager, append, Requests.ofAppend(replicaManager, append, batches, o.get("acks").asInt(), errors -> {
            request.answer = new LinkedHashMap<>();
            errors.forEach((partition, error) -> request.answer.put(number(partition), error.name()));
        })));
    }

    private void fetch(JsonNode o) {
        boolean follower = o.get("to_log_end").asBoolean();
        Map<TopicIdPartition, FetchRequest.PartitionData> wanted = new LinkedHashMap<>();
        of(o).forEach(each -> wanted.put(each.id, from(each, o.get("offset").asLong())));
        Object parameters = Kafka.fetchParams(follower ? FETCHES : -1, follower ? NO_EPOCH : -1, WAITS_MS, follower ? "LOG_END" : "HIGH_WATERMARK",
            o.get("needs").asInt() * RECORD_BYTES, Optional.empty());
        ask("fetch", request -> Requests.fetch(replicaManager, parameters, wanted, found -> {
            request.answer = new LinkedHashMap<>();
            found.forEach((partition, data) -> request.answer.put(number(partition),
                List.of(((Errors) Reflect.get(data, "error")).name(), Kafka.read(Reflect.get(data, "records")).size())));
        }));
    }

    private static FetchRequest.PartitionData from(Hosted one, long offset) {
        return new FetchRequest.PartitionData(one.id.topicId(), offset, 0, MOST_BYTES, Optional.empty());
    }

    private void ask(String kind, java.util.function.Consumer<Asked> how) {
        Asked request = new Asked();
        asked.put(kind, request);
        broker.requests.last = null;
        how.accept(request);
        Reflect.call(replicaManager, "tryCompleteActions");
        request.waits = broker.requests.last;
    }

    /** The time of a request is over, if it waits. */
    private static void expire(Asked request) {
        if (request.waits != null)
            Reflect.call(request.waits, "run");
    }

    private String number(TopicPartition partition) {
        for (int number = 0; number < hosted.size(); number++)
            if (hosted.get(number).id.topicPartition().equals(partition))
                return String.valueOf(number);
        throw new IllegalStateException("nobody has asked for " + partition);
    }

    /** The log of each partition up to the high watermark and behind it, and of each request what has come of it. */
    private Map<String, Object> seen() {
        List<Object> logs = new ArrayList<>();
        for (Hosted one : hosted) {
            if (!one.exists) {
                logs.add(null);
                continue;
            }
            List<Object> below = new ArrayList<>(), above = new ArrayList<>();
            long highWatermark = (Long) Reflect.call(log(one), "highWatermark");
            for (long[] each : Kafka.read(Broker.records(log(one))))
                (each[0] < highWatermark ? below : above).add(each[1]);
            logs.add(List.of(below, above));
        }
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("logs", logs);
        asked.forEach((kind, request) -> seen.put(kind, request.answer));
        return seen;
    }
}
