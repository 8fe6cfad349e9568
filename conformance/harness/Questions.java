import com.yammer.metrics.core.Gauge;
import com.yammer.metrics.core.Metric;
import com.yammer.metrics.core.MetricName;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;

/**
 * What a Partition answers to questions that change nothing: clients' look-ups of offsets and of the ends of epochs, reads from any offset, and
 * what its metrics say. Each is [name, arguments, answer]; an answer is a value, or the name of an error.
 */
final class Questions {
    private static final int NO_EPOCH = -1, STRANGER = 99;
    private static final String[] METRICS = {"UnderReplicated", "UnderMinIsr", "AtMinIsr", "InSyncReplicasCount", "ReplicasCount", "LastStableOffsetLag"};
    private static final Pattern PRINTED = Pattern.compile("; ISR: ([\\d,]*);.* LeaderRecoveryState: (\\w+)");
    private static final Pattern PRINTED_FOLLOWER = Pattern.compile("logEndOffset=(-?\\d+),.* brokerEpoch=(?:Some\\()?(-?\\d+)");

    private final Broker broker;
    private final Object partition;
    private final Object log;
    private final int leaderEpoch;
    private final List<Object> asked = new ArrayList<>();

    private Questions(Broker broker) {
        this.broker = broker;
        this.partition = broker.partition;
        this.log = broker.log();
        this.leaderEpoch = (Integer) Reflect.call(partition, "getLeaderEpoch");
    }

    static List<Object> of(Broker broker) {
        Questions questions = new Questions(broker);
        if (questions.log != null)
            questions.askAll();
        return questions.asked;
    }

    private void ask(String name, List<?> arguments, Supplier<Object> question) {
        Object answer;
        try {
            answer = question.get();
        } catch (ApiException e) {
            answer = Errors.forException(e).name();
        } catch (Reflect.Missing e) {
            throw e;
        } catch (RuntimeException e) {
            answer = e.toString();
        }
        asked.add(Arrays.asList(name, arguments, answer));
    }

    private void askAll() {
        if (broker.isMeasured())
            askForMetrics();
        ask("sameAs", List.of(), () -> {
            Object one = null;
            boolean apart = partition.equals(Scala.unwrap(Reflect.call(broker.replicaManager(), "onlinePartition", Broker.TOPIC_PARTITION))) && !partition.equals("t-0");
            for (Object each : Scala.collection(Reflect.call(partition, "remoteReplicas"))) {
                int follower = (Integer) Reflect.call(each, "brokerId");
                apart &= each.equals(Scala.unwrap(Reflect.call(partition, "getReplica", follower))) && !each.equals(partition) && !each.equals(one);
                one = each;
            }
            return apart;
        });
        ask("printed", List.of(), () -> found(PRINTED, partition));
        long end = (Long) Reflect.call(log, "logEndOffset");
        for (long offset : new long[] {-2, end + 1})
            ask("deleteBelow", List.of(offset), () -> Requests.deleted(broker.replicaManager(), Broker.TOPIC_PARTITION, offset, new Object[1]).name());
        boolean topicIdKnown = Scala.unwrap(Reflect.call(log, "topicId")) != null;
        Refusals.of(broker.replicaManager(), topicIdKnown).forEach((request, error) -> ask("refuses", List.of(request), () -> error));
        ask("producers", List.of(), () -> Reflect.call(Reflect.call(partition, "activeProducerState"), "activeProducers"));
        Object copy = Scala.unwrap(Reflect.call(partition, "futureLog"));
        Object start = copy == null ? Long.MAX_VALUE : Reflect.call(copy, "logStartOffset");
        ask("lowWatermark", List.of(start), () -> Reflect.call(partition, "lowWatermarkIfLeader"));
        for (int epoch = NO_EPOCH; epoch <= leaderEpoch + 1; epoch++)
            endOf(epoch, NO_EPOCH, false);
        for (int current = Math.max(leaderEpoch - 1, 0); current <= leaderEpoch + 1; current++) {
            endOf(leaderEpoch, current, true);
            snapshot(current);
            offset("latest", ListOffsetsRequest.LATEST_TIMESTAMP, IsolationLevel.READ_UNCOMMITTED, current, true);
            consumerRead(current, true);
            consumerRead(current, false);
        }
        consumerRead(NO_EPOCH, true);
        for (boolean ofLeader : new boolean[] {false, true}) {
            offset("latest", ListOffsetsRequest.LATEST_TIMESTAMP, IsolationLevel.READ_UNCOMMITTED, NO_EPOCH, ofLeader);
            offset("latest", ListOffsetsRequest.LATEST_TIMESTAMP, IsolationLevel.READ_COMMITTED, NO_EPOCH, ofLeader);
            offset("end", ListOffsetsRequest.LATEST_TIMESTAMP, null, NO_EPOCH, ofLeader);
            offset("earliest", ListOffsetsRequest.EARLIEST_TIMESTAMP, IsolationLevel.READ_UNCOMMITTED, NO_EPOCH, ofLeader);
            offset("first", 0, null, NO_EPOCH, ofLeader);
        }
        if (leads())
            askForRecords();
    }

    private static List<String> found(Pattern pattern, Object printed) {
        Matcher found = pattern.matcher(printed.toString());
        if (!found.find())
            throw new Reflect.Missing("another form of " + printed);
        List<String> groups = new ArrayList<>();
        for (int group = 1; group <= found.groupCount(); group++)
            groups.add(Arrays.stream(found.group(group).split(",")).sorted().collect(Collectors.joining(",")));
        return groups;
    }

    private void askForMetrics() {
        Object assignment = Reflect.call(partition, "assignmentState");
        List<Integer> adding = Reflect.has(assignment.getClass(), "addingReplicas") ? Scala.ids(Reflect.call(assignment, "addingReplicas")) : List.of();
        Map<MetricName, Metric> all = KafkaYammerMetrics.defaultRegistry().allMetrics();
        for (Map.Entry<MetricName, Metric> each : all.entrySet())
            if (each.getKey().getType().equals("Partition") && Arrays.asList(METRICS).contains(each.getKey().getName()))
                ask(each.getKey().getName(), List.of(adding), () -> ((Gauge<?>) each.getValue()).value());
    }

    private boolean leads() {
        return Integer.valueOf(broker.id).equals(Scala.unwrap(Reflect.call(partition, "leaderReplicaIdOpt")));
    }

    /** Reads by a follower from any offset, after a record of any epoch; reads by a stranger, and by a follower's earlier incarnation. */
    private void askForRecords() {
        long end = (Long) Reflect.call(log, "logEndOffset");
        for (Object each : Scala.collection(Reflect.call(partition, "remoteReplicas"))) {
            int follower = (Integer) Reflect.call(each, "brokerId");
            ask("inSync", List.of(follower), () -> Reflect.call(partition, "isFollowerInSync", each));
            ask("printedFollower", List.of(follower), () -> found(PRINTED_FOLLOWER, each));
            for (long offset = (Long) Reflect.call(log, "logStartOffset"); offset <= end + 1; offset++)
                for (int last = NO_EPOCH; last <= leaderEpoch; last++)
                    read(follower, offset, leaderEpoch, last);
            if (Reflect.has(each.getClass(), "updateFetchStateOrThrow"))
                earlierIncarnation(follower, end);
            break;
        }
        read(STRANGER, end, leaderEpoch, NO_EPOCH);
        read(STRANGER, end, NO_EPOCH, NO_EPOCH);
    }

    private static <T> Optional<T> optional(T epoch, boolean given) {
        return given ? Optional.of(epoch) : Optional.empty();
    }

    /** OffsetsForLeaderEpoch; -1 as the current epoch stands for a client that names none. */
    private void endOf(int epoch, int current, boolean ofLeader) {
        ask("endOf", List.of(epoch, current, ofLeader ? "leader" : "any"), () -> {
            Object found = Reflect.call(partition, "lastOffsetForLeaderEpoch", optional(current, current >= 0), epoch, ofLeader);
            Errors error = Errors.forCode((Short) Reflect.call(found, "errorCode"));
            return error != Errors.NONE ? error.name() : List.of(Reflect.call(found, "leaderEpoch"), Reflect.call(found, "endOffset"));
        });
    }

    private void snapshot(int current) {
        ask("snapshot", List.of(current), () -> {
            Object found = Reflect.call(partition, "fetchOffsetSnapshot", optional(current, true), true);
            List<Object> shown = new ArrayList<>(List.of(Reflect.get(found, "logStartOffset")));
            for (String name : new String[] {"highWatermark", "lastStableOffset", "logEndOffset"})
                shown.add(Reflect.get(Reflect.get(found, name), "messageOffset"));
            return shown;
        });
    }

    /** ListOffsets; without an isolation level it is a follower that asks. */
    private void offset(String name, long timestamp, IsolationLevel isolation, int current, boolean ofLeader) {
        Method method = Reflect.byName(partition.getClass(), "fetchOffsetForTimestamp");
        boolean[] first = {true};
        ask(name, List.of(isolation == null ? "" : isolation.name(), current, ofLeader ? "leader" : "any"), () -> {
            Object held = Scala.unwrap(Reflect.invoke(partition, method, Reflect.supply(Reflect.types(method), type -> {
                if (type == scala.Option.class) {
                    scala.Option<Object> given = first[0] ? scala.Option.apply(isolation) : scala.Option.empty();
                    first[0] = false;
                    return given;
                }
                return type == long.class ? (Object) timestamp : type == boolean.class ? (Object) ofLeader : optional(current, current >= 0);
            })));
            if (held != null && held.getClass().getSimpleName().equals("OffsetResultHolder"))
                held = Scala.unwrap(Reflect.call(held, "timestampAndOffsetOpt"));
            return held == null ? -1L : Reflect.get(held, "offset");
        });
    }

    private Object fetch(int replica, long brokerEpoch, long offset, int current, int last, boolean counts) {
        FetchRequest.PartitionData request = new FetchRequest.PartitionData(
            Broker.TOPIC_ID, offset, 0, 1, optional(current, current >= 0), optional(last, last >= 0));
        return Reflect.call(partition, "fetchRecords", Kafka.fetchParams(replica, brokerEpoch, 0), request, broker.clock.milliseconds(), 1, true, counts);
    }

    /** A read that counts for nothing. */
    private void read(int replica, long offset, int current, int last) {
        ask("read", List.of(replica, offset, current, last), () -> {
            Object found = fetch(replica, NO_EPOCH, offset, current, last, false);
            Object diverging = ((Optional<?>) Reflect.get(found, "divergingEpoch")).orElse(null);
            if (diverging != null)
                return List.of("diverging", Reflect.call(diverging, "epoch"), Reflect.call(diverging, "endOffset"));
            for (long[] each : Kafka.read(Reflect.get(Reflect.get(found, "fetchedData"), "records")))
                if (each[0] >= offset)
                    return List.of("record", each[1], each[2]);
            return List.of("nothing new");
        });
    }

    /** What ReplicaManager#fetchMessages reads for a consumer at the start of the log: from the leader alone, or from any replica (KIP-392). */
    private void consumerRead(int current, boolean ofLeader) {
        long offset = (Long) Reflect.call(log, "logStartOffset");
        ask("consumerRead", List.of(offset, current, ofLeader ? "leader" : "any"), () -> {
            Object found = Requests.read(broker.replicaManager(), offset, optional(current, current >= 0), ofLeader);
            Errors error = (Errors) Reflect.get(found, "error");
            if (error != Errors.NONE)
                return error.name();
            for (long[] each : Kafka.read(Reflect.get(found, "records")))
                if (each[0] >= offset)
                    return List.of("record", each[1], each[2]);
            return List.of("nothing new");
        });
    }

    /** A fetch that would count, if the follower had not registered again since. */
    /** Since 3.7 a leader refuses fetches of a follower's earlier incarnation (Replica#updateFetchStateOrThrow). */
    private void earlierIncarnation(int follower, long end) {
        Long epoch = broker.aliveEpoch(follower);
        if (epoch != null && epoch > 0)
            ask("earlierIncarnation", List.of(follower), () -> {
                fetch(follower, epoch - 1, end, leaderEpoch, NO_EPOCH, true);
                return "NONE";
            });
    }
}
