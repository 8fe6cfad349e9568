import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionReassignmentsResponseData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.metadata.PartitionRegistration;

/** Controllers and brokers, step by step. */
final class ControllerRun extends Run {
    /** What can happen, how often it is drawn, and how a schedule says it. */
    enum Kind implements Step.Kind {
        DELIVER(420, "deliver %w of b%d"),
        LOSE(10, "lose %w of b%d"),
        PASS(110, "%d ms pass"),
        COMMIT(200, "commit a batch"),
        READ(60, "controller %d reads %d batches"),
        BROKER_READ(150, "b%d reads %d batches"),
        FAIL_OVER(5, "controller %d is elected with %d uncommitted batches"),
        LEARN(40, "controller %d learns who leads"),
        KILL(12, "kill b%d"),
        START(28, "start b%d"),
        LOAD(4, "start b%d from a snapshot of b%d"),
        SHUT_DOWN(10, "shut down b%d"),
        MISTAKE(3, "b%d takes controller %d for the active one"),
        FIND(6, "b%d finds the active controller"),
        APPEND(40, "b%d appends a record to t%d-%d"),
        FETCH(150, "b%d fetches t%d-%d"),
        JOIN(60, "b%d proposes that b%d joins the ISR of t%d-%d"),
        LEAVE(25, "b%d proposes that b%d leaves the ISR of t%d-%d"),
        ELECT(15, "elect the preferred leader of t%d-%d"),
        ELECT_UNCLEANLY(4, "elect a leader of t%d-%d uncleanly"),
        REASSIGN(20, "reassign t%d-%d to %b"),
        CANCEL(8, "cancel the reassignment of t%d-%d"),
        UNREGISTER(3, "unregister b%d"),
        CREATE(40, "create t%d of %d partitions on %b"),
        DELETE(3, "delete t%d"),
        MIN_ISR(12, "set min.insync.replicas of t%d to %d");

        private final int weight;
        private final String text;

        Kind(int weight, String text) {
            this.weight = weight;
            this.text = text;
        }

        @Override
        public String text() {
            return text;
        }
    }

    /**
     * What runs differ in, since what one kind of step leads to often hides what others do: half of the runs do without some of these
     * kinds and take others more often. The other half take those of one group more often, and none of the others.
     */
    private static final List<List<Kind>> GROUPS = List.of(List.of(Kind.REASSIGN, Kind.CANCEL, Kind.KILL), List.of(Kind.MIN_ISR, Kind.DELETE, Kind.KILL),
        List.of(Kind.FAIL_OVER, Kind.LOSE, Kind.MISTAKE, Kind.LOAD), List.of(Kind.SHUT_DOWN, Kind.UNREGISTER, Kind.ELECT_UNCLEANLY));
    private static final int[] TIMES = {0, 0, 1, 1, 1, 5};
    private static final int OFTEN = 5;
    private static final int MOST_TOPICS = 2;

    private final ControlPlane plane;
    final ControllerChecks checks;
    private final Random random;
    /** Each kind as often as this run draws it. */
    private final List<Kind> drawn = new ArrayList<>();
    private final List<CompletableFuture<?>> asked = new ArrayList<>();

    ControllerRun(String release, Set<String> newOnes, boolean elr, long seed) {
        super(release, newOnes);
        Chance.follow(seed);
        random = Chance.of(seed);
        List<Kind> group = any(2) == 0 ? GROUPS.get(any(GROUPS.size())) : List.of();
        for (Kind each : Kind.values()) {
            boolean varied = GROUPS.stream().anyMatch(kinds -> kinds.contains(each));
            int times = !varied ? 1 : group.contains(each) ? OFTEN : group.isEmpty() ? TIMES[any(TIMES.length)] : 0;
            drawn.addAll(Collections.nCopies(each.weight * times, each));
        }
        plane = new ControlPlane(elr);
        checks = new ControllerChecks(plane, this::broken);
    }

    @Override
    void begin() {
        plane.failOver(0, 0);
        plane.calm();
        plane.brokers.forEach(WalkedBroker::start);
        plane.passCalmly(2_500);
        checks.afterStep();
    }

    @Override
    boolean drawOne() {
        Step step = drawn();
        return step != null && perform(step);
    }

    @Override
    void check() {
        checks.afterStep();
        requests();
    }

    /** Nothing fails any more: all is delivered, brokers start again, and sessions end. */
    @Override
    void end() {
        plane.brokers.forEach(each -> each.believes = ControlPlane.NOBODY);
        plane.controllers.forEach(WalkedController::learnEpoch);
        plane.calm();
        for (int twice = 0; twice < 2; twice++) {
            for (WalkedBroker each : plane.brokers)
                if (!each.runs())
                    each.start();
            plane.passCalmly(3 * WalkedController.SESSION_MS);
        }
        check();
        checks.atEnd();
    }

    // ---- steps, drawn

    private int any(int bound) {
        return random.nextInt(bound);
    }

    private Step drawn() {
        Kind kind = drawn.get(any(drawn.size()));
        int broker = any(ControlPlane.BROKERS), other = any(ControlPlane.BROKERS), controller = any(ControlPlane.CONTROLLERS);
        int id = ControlPlane.FIRST_CONTROLLER + controller;
        switch (kind) {
            case DELIVER:
            case LOSE:
                if (plane.letters.isEmpty())
                    return null;
                Letter letter = plane.letters.get(any(Math.min(5, plane.letters.size())));
                return new Step(kind, letter.word(), letter.broker.id);
            case PASS:
                return new Step(kind, null, any(2) == 0 ? 1 + any(100) : 1 + any(2_500));
            case COMMIT:
                return new Step(kind, null);
            case READ:
                return new Step(kind, null, id, 1 + any(3));
            case BROKER_READ:
                return new Step(kind, null, broker, 1 + any(3));
            case FAIL_OVER:
                return new Step(kind, null, id, any(plane.uncommitted.size() + 1));
            case LEARN:
                return new Step(kind, null, id);
            case MISTAKE:
                return new Step(kind, null, broker, id);
            case LOAD:
                return new Step(kind, null, broker, other);
            case KILL:
                return any(2) == 0 ? new Step(kind, null, broker) : drawnOfTopic(kind, broker);
            case START:
            case SHUT_DOWN:
            case FIND:
            case UNREGISTER:
                return new Step(kind, null, broker);
            case CREATE:
                return live().size() >= MOST_TOPICS ? null : with(kind, 2 + any(2), plane.logs.byNumber.size() + asked.size(), 1 + any(2));
            default:
                return drawnOfTopic(kind, broker);
        }
    }

    private Step drawnOfTopic(Kind kind, int broker) {
        List<Integer> live = live();
        if (live.isEmpty())
            return null;
        int topic = live.get(any(live.size())), index = any(plane.logs.byNumber.get(topic).size());
        PartitionRegistration now = plane.active().partition(plane.logs.partition(topic, index).id, index);
        int replica = now.replicas[any(now.replicas.length)], leader = now.leader < 0 || any(8) == 0 ? broker : now.leader;
        switch (kind) {
            case APPEND:
                return new Step(kind, null, leader, topic, index);
            case FETCH:
                return new Step(kind, null, replica, topic, index);
            case JOIN:
            case LEAVE:
                return new Step(kind, null, leader, replica, topic, index);
            case DELETE:
                return new Step(kind, null, topic);
            case MIN_ISR:
                return new Step(kind, null, topic, 1 + any(3));
            case KILL:
                return new Step(kind, null, leader);
            case REASSIGN:
                return any(2) == 0 ? with(kind, 1 + any(3), topic, index) : new Step(kind, null, topic, index, replica);
            default:
                return new Step(kind, null, topic, index);
        }
    }

    /** A step with some brokers at its end. */
    private Step with(Kind kind, int brokers, int... numbers) {
        List<Integer> order = new ArrayList<>();
        for (int id = 0; id < ControlPlane.BROKERS; id++)
            order.add(any(order.size() + 1), id);
        int[] all = Arrays.copyOf(numbers, numbers.length + brokers);
        for (int at = 0; at < brokers; at++)
            all[numbers.length + at] = order.get(at);
        return new Step(kind, null, all);
    }

    /** The topics that the active controller has. */
    private List<Integer> live() {
        List<Integer> live = new ArrayList<>();
        plane.logs.byNumber.forEach((number, partitions) -> {
            if (plane.active().partition(partitions.get(0).id, 0) != null)
                live.add(number);
        });
        return live;
    }

    @Override
    Step merged(Step first, Step second) {
        return first.kind == Kind.PASS && second.kind == Kind.PASS ? new Step(Kind.PASS, null, first.numbers[0] + second.numbers[0]) : null;
    }

    // ---- steps, taken

    @Override
    boolean take(Step step) {
        int[] numbers = step.numbers;
        Kind kind = (Kind) step.kind;
        switch (kind) {
            case DELIVER:
            case LOSE:
                return letter(kind, step);
            case PASS:
                plane.pass(numbers[0]);
                return true;
            case COMMIT:
                return plane.commit();
            case READ:
                return isController(numbers[0]) && controller(numbers[0]).read(numbers[1]);
            case FAIL_OVER:
                if (!isController(numbers[0]) || !plane.active().knowsEpoch() || numbers[1] > plane.uncommitted.size())
                    return false;
                plane.failOver(numbers[0] - ControlPlane.FIRST_CONTROLLER, numbers[1]);
                return true;
            case LEARN:
                if (!isController(numbers[0]) || controller(numbers[0]).knowsEpoch())
                    return false;
                controller(numbers[0]).learnEpoch();
                return true;
            case CREATE:
                return create(numbers[0], numbers[1], step.brokers(2));
            case DELETE:
            case MIN_ISR:
                return plane.logs.byNumber.containsKey(numbers[0]) && ofTopic(kind, numbers[0], numbers[numbers.length - 1]);
            case ELECT:
            case ELECT_UNCLEANLY:
            case REASSIGN:
            case CANCEL:
                ReplicaLogs.Partition partition = plane.logs.partition(numbers[0], numbers[1]);
                return partition != null && ofPartition(kind, partition, step.brokers(2));
            default:
                return numbers[0] < ControlPlane.BROKERS && ofBroker(kind, plane.brokers.get(numbers[0]), numbers);
        }
    }

    private static boolean isController(int id) {
        return id >= ControlPlane.FIRST_CONTROLLER && id < ControlPlane.FIRST_CONTROLLER + ControlPlane.CONTROLLERS;
    }

    private WalkedController controller(int id) {
        return plane.controllers.get(id - ControlPlane.FIRST_CONTROLLER);
    }

    private boolean letter(Kind kind, Step step) {
        for (Letter each : plane.letters)
            if (each.broker.id == step.numbers[0] && each.word().equals(step.word)) {
                if (kind == Kind.LOSE)
                    plane.lose(each);
                else
                    plane.deliver(each);
                return true;
            }
        return false;
    }

    private boolean ofBroker(Kind kind, WalkedBroker broker, int[] numbers) {
        switch (kind) {
            case BROKER_READ:
                return broker.runs() && broker.read(numbers[1]);
            case KILL:
                if (!broker.runs())
                    return false;
                broker.kill();
                return true;
            case START:
                if (broker.runs())
                    return false;
                broker.start();
                return true;
            case LOAD:
                WalkedBroker other = numbers[1] < ControlPlane.BROKERS ? plane.brokers.get(numbers[1]) : broker;
                if (broker.runs() || !other.runs() || other.image == null || other.read == 0)
                    return false;
                broker.start();
                broker.load(other);
                return true;
            case SHUT_DOWN:
                if (!broker.isRunning())
                    return false;
                broker.shutDown();
                return true;
            case MISTAKE:
                if (!isController(numbers[1]) || broker.talksTo() == numbers[1] - ControlPlane.FIRST_CONTROLLER)
                    return false;
                broker.believes = numbers[1] - ControlPlane.FIRST_CONTROLLER;
                return true;
            case FIND:
                if (broker.believes == ControlPlane.NOBODY)
                    return false;
                broker.believes = ControlPlane.NOBODY;
                return true;
            case UNREGISTER:
                if (plane.active().standing(broker.id).equals("absent"))
                    return false;
                ask("unregisterBroker", broker.id);
                return true;
            default:
                return ofReplica(kind, broker, numbers);
        }
    }

    private boolean ofReplica(Kind kind, WalkedBroker broker, int[] numbers) {
        ReplicaLogs.Partition partition = plane.logs.partition(numbers[numbers.length - 2], numbers[numbers.length - 1]);
        if (partition == null || !broker.runs())
            return false;
        if (kind == Kind.APPEND)
            return plane.logs.produce(partition, broker);
        if (kind == Kind.FETCH)
            return plane.logs.fetch(partition, broker);
        PartitionRegistration seen = plane.logs.leads(partition, broker);
        return seen != null && numbers[1] < ControlPlane.BROKERS && ReplicaLogs.contains(seen.isr, numbers[1]) == (kind == Kind.LEAVE)
            && plane.logs.propose(partition, broker, numbers[1]);
    }

    private CompletableFuture<?> ask(String method, Object... arguments) {
        CompletableFuture<?> answer = plane.active().ask(method, arguments);
        asked.add(answer);
        return answer;
    }

    private boolean create(int number, int partitions, List<Integer> brokers) {
        if (partitions < 1 || partitions > 9 || brokers.stream().anyMatch(each -> each >= ControlPlane.BROKERS) || plane.logs.byNumber.containsKey(number))
            return false;
        String name = "t" + number;
        CreateTopicsRequestData.CreatableTopic topic = new CreateTopicsRequestData.CreatableTopic().setName(name).setNumPartitions(-1).setReplicationFactor((short) -1);
        for (int index = 0; index < partitions; index++)
            add(topic.assignments(), new CreateTopicsRequestData.CreatableReplicaAssignment().setPartitionIndex(index).setBrokerIds(brokers));
        if (plane.elr)
            add(topic.configs(), new CreateTopicsRequestData.CreatableTopicConfig().setName(WalkedController.MIN_ISR).setValue("2"));
        CreateTopicsRequestData data = new CreateTopicsRequestData();
        add(data.topics(), topic);
        ask("createTopics", data, Set.of(name), false).thenAccept(answer -> {
            CreateTopicsResponseData.CreatableTopicResult result = ((CreateTopicsResponseData) answer).topics().find(name);
            if (result.errorCode() == 0)
                plane.logs.created(number, result.topicId(), partitions);
        });
        return true;
    }

    /** Since 4.4 the elements of such collections have another ancestor, which their methods name. */
    @SuppressWarnings("unchecked")
    static void add(Object collection, Object element) {
        ((java.util.Collection<Object>) collection).add(element);
    }

    private boolean ofTopic(Kind kind, int number, int value) {
        String name = "t" + number;
        Uuid id = plane.logs.partition(number, 0).id;
        if (plane.active().partition(id, 0) == null)
            return false;
        if (kind == Kind.DELETE) {
            ask("deleteTopics", List.of(id));
        } else {
            checks.settingMinIsr(number);
            ask("incrementalAlterConfigs", Map.of(new ConfigResource(ConfigResource.Type.TOPIC, name),
                Map.of(WalkedController.MIN_ISR, Map.entry(AlterConfigOp.OpType.SET, "" + value))), false, false);
        }
        return true;
    }

    private boolean ofPartition(Kind kind, ReplicaLogs.Partition partition, List<Integer> brokers) {
        PartitionRegistration now = plane.active().partition(partition.id, partition.index);
        if (now == null || kind == Kind.CANCEL && now.addingReplicas.length + now.removingReplicas.length == 0 || brokers.stream().anyMatch(each -> each >= ControlPlane.BROKERS))
            return false;
        String name = "t" + partition.topic;
        if (kind == Kind.ELECT || kind == Kind.ELECT_UNCLEANLY) {
            ElectLeadersRequestData.TopicPartitionsCollection partitions = new ElectLeadersRequestData.TopicPartitionsCollection();
            add(partitions, new ElectLeadersRequestData.TopicPartitions().setTopic(name).setPartitions(List.of(partition.index)));
            ask("electLeaders", new ElectLeadersRequestData().setElectionType((byte) (kind == Kind.ELECT ? 0 : 1)).setTopicPartitions(partitions));
            return true;
        }
        AlterPartitionReassignmentsRequestData.ReassignablePartition change = new AlterPartitionReassignmentsRequestData.ReassignablePartition()
            .setPartitionIndex(partition.index).setReplicas(kind == Kind.CANCEL ? null : brokers);
        AlterPartitionReassignmentsRequestData data = new AlterPartitionReassignmentsRequestData().setTopics(
            List.of(new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(name).setPartitions(List.of(change))));
        boolean marked = checks.hasUnassigned(partition);
        ask("alterPartitionReassignments", data).thenAccept(answer -> reassigned((AlterPartitionReassignmentsResponseData) answer, partition, marked));
        return true;
    }

    private Violation failed;

    private void reassigned(AlterPartitionReassignmentsResponseData answer, ReplicaLogs.Partition partition, boolean marked) {
        answer.responses().forEach(topic -> topic.partitions().forEach(each -> {
            if (each.errorCode() == Errors.UNKNOWN_SERVER_ERROR.code())
                failed = new Violation("requests_do_not_fail_unexpectedly", "the reassignment of " + partition + " fails with " + Errors.UNKNOWN_SERVER_ERROR)
                    .with("eligible unassigned before", marked);
        }));
    }

    /** Requests that were answered: an error that a client cannot know is none. */
    private void requests() {
        if (failed != null) {
            Violation found = failed;
            failed = null;
            broken(found);
        }
        for (int at = asked.size() - 1; at >= 0; at--)
            if (asked.get(at).isDone()) {
                CompletableFuture<?> answer = asked.remove(at);
                answer.exceptionally(thrown -> {
                    if (Letter.error(thrown) == Errors.UNKNOWN_SERVER_ERROR)
                        failed = new Violation("requests_do_not_fail_unexpectedly", Blame.told(thrown));
                    return null;
                });
            }
    }

    // ---- what a schedule shows

    @Override
    Map<String, String> seen() {
        Map<String, String> seen = new TreeMap<>();
        seen.put("  active controller", plane.active().id + ", epoch " + plane.epoch + (plane.uncommitted.isEmpty() ? "" : ", " + plane.uncommitted.size() + " batches are not committed"));
        plane.active().topics().forEach((name, partitions) -> partitions.forEach((index, now) -> seen.put(name + "-" + index, ControllerChecks.shown(now))));
        for (WalkedBroker each : plane.brokers)
            seen.put(" b" + each.id, (each.state() + "; the controller has it " + plane.active().standing(each.id)).replace("_", " ").toLowerCase(Locale.ROOT));
        plane.logs.byNumber.values().forEach(topic -> topic.forEach(partition -> {
            for (int id = 0; id < ControlPlane.BROKERS; id++)
                if (partition.logs[id].length > 0)
                    seen.put(partition + " on b" + id, partition.logs[id].length + " records");
            if (!partition.acknowledged.isEmpty())
                seen.put(partition + " acknowledged", partition.acknowledged.size() + " records");
        }));
        return seen;
    }
}
