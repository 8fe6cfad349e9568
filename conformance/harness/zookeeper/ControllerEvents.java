import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import kafka.cluster.Broker;
import kafka.controller.ControllerChannelManager;
import kafka.controller.ControllerContext;
import kafka.controller.KafkaController;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionState;
import kafka.controller.ReplicaAssignment;
import kafka.controller.ReplicaState;
import kafka.controller.StateChangeLogger;
import kafka.server.KafkaConfig;
import kafka.server.metadata.ZkMetadataCache;
import kafka.zk.BrokerIdZNode;
import kafka.zk.BrokerInfo;
import kafka.zk.ControllerEpochZNode;
import kafka.zk.ControllerZNode;
import kafka.zk.DeleteTopicsTopicZNode;
import kafka.zk.FeatureZNode;
import kafka.zk.FeatureZNodeStatus;
import kafka.zk.IsrChangeNotificationSequenceZNode;
import kafka.zk.KafkaZkClient;
import kafka.zk.PreferredReplicaElectionZNode;
import kafka.zk.ReassignPartitionsZNode;
import kafka.zk.TopicPartitionStateZNode;
import kafka.zk.TopicZNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import scala.Function1;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Events of Kafka's controller with ZooKeeper, one at a time. There is one topic.
 *
 * Each operation sets up what ZooKeeper holds and the context of KafkaController, has the controller handle one event, and shows both and the
 * requests that were sent. What the controller puts into its own queue meanwhile is dropped. Real are KafkaController with its context, both
 * state machines, TopicDeletionManager and KafkaZkClient.
 */
public final class ControllerEvents {
    private static final int CONTROLLER = 1000;
    private static final String TOPIC = "t";
    private static final ListenerName LISTENER = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);
    private static final short WITH_TOPIC_IDS = 2;

    private final Nodes nodes = Nodes.unconnected();
    private final Map<Integer, List<Object>> sent = new TreeMap<>();
    private final KafkaController controller;
    private final ControllerContext context;
    private final List<Object> batches;
    private Object answer;

    /** The channels to brokers: what is sent is kept. */
    private final class Channels extends ControllerChannelManager {
        Channels(KafkaConfig config) {
            super(() -> 0, config, new Clock(), new Metrics(), new StateChangeLogger(CONTROLLER, true, Option.empty()), Option.empty());
        }

        @Override
        public void startup(scala.collection.Set<Broker> brokers) { }

        @Override
        public void shutdown() { }

        @Override
        public void addBroker(Broker broker) { }

        @Override
        public void removeBroker(int broker) { }

        @Override
        public void sendRequest(int broker, AbstractControlRequest.Builder<? extends AbstractControlRequest> request, Function1<AbstractResponse, BoxedUnit> callback) {
            sent.computeIfAbsent(broker, key -> new ArrayList<>()).add(shown(request.build()));
        }
    }

    private ControllerEvents() throws ReflectiveOperationException {
        Properties given = new Properties();
        given.setProperty("broker.id", String.valueOf(CONTROLLER));
        given.setProperty("reserved.broker.max.id", String.valueOf(CONTROLLER));
        given.setProperty("zookeeper.connect", "nowhere");
        given.setProperty("auto.leader.rebalance.enable", "false");
        KafkaConfig config = KafkaConfig.fromProps(given);
        Clock clock = new Clock();
        KafkaZkClient client = (KafkaZkClient) Reflect.construct(KafkaZkClient.class,
            type -> type == boolean.class ? (Object) false : type == org.apache.kafka.common.utils.Time.class ? clock : nodes);
        Object cache = Reflect.construct(ZkMetadataCache.class, type -> type == int.class ? (Object) CONTROLLER : type == boolean.class ? (Object) false
            : type.getSimpleName().equals("Seq") ? Scala.list(List.of()) : type.getSimpleName().equals("MetadataVersion") ? Kafka.metadataVersion() : null);
        controller = (KafkaController) Reflect.construct(KafkaController.class, type -> type == KafkaConfig.class ? config : type == KafkaZkClient.class ? client
            : type == long.class ? (Object) 0L : type == Option.class ? Option.empty() : type == Metrics.class ? new Metrics()
            : type.isInstance(clock) ? clock : type.isInstance(cache) ? cache : null);
        context = controller.controllerContext();
        Channels channels = new Channels(config);
        Reflect.field(KafkaController.class, "controllerChannelManager").set(controller, channels);
        batches = List.of(Reflect.read(controller, "brokerRequestBatch"), batchOf(controller.replicaStateMachine()), batchOf(controller.partitionStateMachine()));
        for (Object batch : batches)
            Reflect.field(batch.getClass(), "controllerChannelManager").set(batch, channels);
    }

    private Object ofReplicas() {
        return batches.get(1);
    }

    private static Object batchOf(Object machine) {
        return Reflect.read(machine, "controllerBrokerRequestBatch");
    }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> new ControllerEvents()::after);
    }

    private Object after(JsonNode o) throws Exception {
        setUp(o.get("zk"));
        setUpContext(o);
        for (Object batch : batches)
            Reflect.call(batch, "clear");
        if (o.get("batch_left").asBoolean()) {
            Reflect.call(ofReplicas(), "newBatch");
            Reflect.call(ofReplicas(), "addStopReplicaRequestForBrokers", Scala.list(List.of(0)), StateMachines.partition(0), false);
        }
        sent.clear();
        answer = null;
        Object error = null;
        try {
            handle(o);
        } catch (ControllerMovedException e) {  // these as in KafkaController#process
            error = "moved";
            Reflect.call(controller, "maybeResign");
        } catch (RuntimeException e) {
            error = e.toString();
        }
        Map<String, Object> shown = shown(o.get("partitions").size(), o.get("live").size());
        shown.put("error", error);
        Reflect.call(Reflect.read(controller, "kafkaScheduler"), "shutdown");
        ((Collection<?>) Reflect.read(Reflect.read(controller, "eventManager"), "queue")).clear();
        return shown;
    }

    // What is set up

    private void setUp(JsonNode zk) {
        nodes.clear();
        nodes.put(FeatureZNode.path(), FeatureZNode.encode(FeatureZNode.apply(controller.config().interBrokerProtocolVersion(), enabled(), scalaMap(Map.of()))), 1);  // 0 is none: ZkStat.NoStat
        int epoch = zk.get("controller_epoch").asInt();
        nodes.put(ControllerEpochZNode.path(), ControllerEpochZNode.encode(epoch), epoch);
        if (!zk.get("controller").isNull())
            nodes.put(ControllerZNode.path(), ControllerZNode.encode(zk.get("controller").asBoolean() ? CONTROLLER : CONTROLLER - 1, 0, -1), 0);
        for (int id = 0; id < zk.get("registrations").size(); id++)
            if (!zk.get("registrations").get(id).isNull())
                nodes.put(BrokerIdZNode.path(id), BrokerIdZNode.encode(BrokerInfo.apply(broker(id), controller.config().interBrokerProtocolVersion(), -1)), 0,
                    zk.get("registrations").get(id).asLong());
        Map<TopicPartition, ReplicaAssignment> assigned = new LinkedHashMap<>();
        Map<TopicPartition, Seq<Object>> asked = new LinkedHashMap<>();
        forEach(zk, (partition, of) -> {
            if (!of.get("assignment").isEmpty())
                assigned.put(partition, assigned(of));
            JsonNode written = of.get("leadership");
            if (!written.isNull())
                nodes.put(TopicPartitionStateZNode.path(partition),
                    TopicPartitionStateZNode.encode(new LeaderIsrAndControllerEpoch(StateMachines.leadership(written), written.get(4).asInt())), written.get(3).asInt());
            if (!of.get("reassignment").isNull())
                asked.put(partition, StateMachines.ids(of.get("reassignment")));
        });
        if (!assigned.isEmpty())
            nodes.put(TopicZNode.path(TOPIC), TopicZNode.encode(Option.apply(topicId(zk)), scalaMap(assigned)), 0);
        if (!asked.isEmpty())
            nodes.put(ReassignPartitionsZNode.path(), ReassignPartitionsZNode.encode(scalaMap(asked)), 0);
        if (zk.get("deletion").asBoolean())
            nodes.put(DeleteTopicsTopicZNode.path(TOPIC), new byte[0], 0);
        if (zk.get("preferred_election").asBoolean())
            nodes.put(PreferredReplicaElectionZNode.path(), PreferredReplicaElectionZNode.encode(onePartition()), 0);
        if (zk.get("isr_changed").asBoolean())
            nodes.put(IsrChangeNotificationSequenceZNode.path("0"), IsrChangeNotificationSequenceZNode.encode(onePartition()), 0);
    }

    private void setUpContext(JsonNode o) throws ReflectiveOperationException {
        context.resetContext();
        int owner = o.get("zk").get("controller").isNull() ? -1 : o.get("zk").get("controller").asBoolean() ? CONTROLLER : CONTROLLER - 1;
        boolean active = o.get("active").asBoolean();
        Reflect.field(KafkaController.class, "activeControllerId").setInt(controller, active ? CONTROLLER : owner == CONTROLLER ? -1 : owner);
        if (!active)
            return;
        context.epoch_$eq(o.get("epoch").asInt());
        context.epochZkVersion_$eq(o.get("epoch").asInt());
        Map<Broker, Object> live = new HashMap<>();
        for (int id = 0; id < o.get("live").size(); id++)
            if (!o.get("live").get(id).isNull())
                live.put(broker(id), o.get("live").get(id).asLong());
        context.setLiveBrokers(CollectionConverters.asScala(live));
        for (JsonNode each : o.get("shutting_down"))
            context.shuttingDownBrokerIds().add(each.asInt());
        if (o.get("topic").asInt() == 0)
            return;
        context.setAllTopics(CollectionConverters.asScala(new java.util.HashSet<>(List.of(TOPIC))));
        context.addTopicId(TOPIC, topicId(o));
        forEach(o, this::setUpContext);
        if (o.get("deleting").asBoolean())
            context.queueTopicDeletion(topics());
        if (o.get("deletion_begun").asBoolean())
            context.topicsWithDeletionStarted().add(TOPIC);
        if (o.get("deletion_halted").asBoolean() && o.get("deleting").asBoolean())
            context.topicsIneligibleForDeletion().add(TOPIC);
    }

    private void setUpContext(TopicPartition partition, JsonNode o) {
        if (o.get("assignment").isEmpty())
            return;
        context.updatePartitionFullReplicaAssignment(partition, assigned(o));
        if (!o.get("target").isNull())
            Reflect.call(context.partitionsBeingReassigned(), "add", partition);
        JsonNode known = o.get("leadership");
        if (!known.isNull())
            context.putPartitionLeadershipInfo(partition, new LeaderIsrAndControllerEpoch(StateMachines.leadership(known), known.get(4).asInt()));
        context.putPartitionState(partition, (PartitionState) StateMachines.named(o.get("partition")));
        for (int id = 0; id < o.get("replicas").size(); id++)
            if (!o.get("replicas").get(id).asText().equals("NonExistentReplica"))
                context.putReplicaState(new PartitionAndReplica(partition, id), (ReplicaState) StateMachines.named(o.get("replicas").get(id)));
    }

    private static void forEach(JsonNode o, BiConsumer<TopicPartition, JsonNode> what) {
        for (int number = 0; number < o.get("partitions").size(); number++)
            what.accept(StateMachines.partition(number), o.get("partitions").get(number));
    }

    private static FeatureZNodeStatus enabled() {
        return (FeatureZNodeStatus) Reflect.constant(Reflect.type("kafka.zk.FeatureZNodeStatus$Enabled$"), "MODULE$");
    }

    private static Broker broker(int id) {
        return new Broker(id, "localhost", 9092, LISTENER, SecurityProtocol.PLAINTEXT);
    }

    private static Uuid topicId(JsonNode o) {
        return new Uuid(0, o.get("topic").asInt());
    }

    /** Replicas in order; those to add and to remove, if they are being reassigned to others. */
    private static ReplicaAssignment assigned(JsonNode o) {
        scala.collection.immutable.List<Object> replicas = StateMachines.ids(o.get("assignment"));
        if (o.get("target").isNull())
            return ReplicaAssignment.apply(replicas);
        List<Integer> origin = Harness.ids(o.get("origin")), target = Harness.ids(o.get("target")), adding = new ArrayList<>(), removing = new ArrayList<>();
        for (JsonNode each : o.get("assignment")) {
            if (!origin.contains(each.asInt()))
                adding.add(each.asInt());
            if (!target.contains(each.asInt()))
                removing.add(each.asInt());
        }
        return new ReplicaAssignment(replicas, list(adding), list(removing));
    }

    @SuppressWarnings("unchecked")
    private static <T> Seq<T> list(List<?> values) {
        return (Seq<T>) Scala.list(values);
    }

    private static <K, V> scala.collection.immutable.Map<K, V> scalaMap(Map<K, V> map) {
        return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(map));
    }

    @SuppressWarnings("unchecked")
    private static scala.collection.immutable.Set<TopicPartition> onePartition() {
        return (scala.collection.immutable.Set<TopicPartition>) Scala.set(List.of(StateMachines.partition(0)));
    }

    @SuppressWarnings("unchecked")
    private static scala.collection.immutable.Set<String> topics() {
        return (scala.collection.immutable.Set<String>) Scala.set(List.of(TOPIC));
    }

    // What happens

    private void handle(JsonNode o) {
        String event = o.get("event").asText();
        int broker = o.path("broker").asInt();
        switch (event) {
            case "Reelect":
                Reflect.call(controller, "maybeResign");
                Reflect.call(controller, "elect");
                break;
            case "ControllerChange":
                Reflect.call(controller, "maybeResign");
                break;
            case "ControlledShutdown":
                answer = shutDown(broker, o.get("broker_epoch").asLong());
                break;
            case "AlterPartition":
                alterPartition(o);
                break;
            case "StopReplicaResponse":
                Errors error = o.get("failed").asBoolean() ? Errors.KAFKA_STORAGE_ERROR : Errors.NONE;
                Reflect.call(controller, "processTopicDeletionStopReplicaResponseReceived", broker, Errors.NONE, scalaMap(Map.of(StateMachines.partition(0), error)));
                break;
            case "PartitionModifications":
                Reflect.call(controller, "processPartitionModifications", TOPIC);
                break;
            case "MaybeCompleteReassignment":
                Reflect.call(controller, "maybeCompleteReassignment", StateMachines.partition(o.get("number").asInt()));
                break;
            case "AutoPreferredReplicaLeaderElection":
                Reflect.call(controller, "checkAndTriggerAutoLeaderRebalance");
                break;
            case "PreferredReplicaElection":
                preferred();
                break;
            default:
                Reflect.call(controller, "process" + event);
        }
    }

    private void preferred() {
        Object trigger = Reflect.constant(Reflect.type("kafka.controller.ZkTriggered$"), "MODULE$");
        Reflect.call(controller, "processReplicaLeaderElection", Option.empty(), org.apache.kafka.common.ElectionType.PREFERRED, trigger,
            new AbstractFunction1<Object, BoxedUnit>() {
                @Override
                public BoxedUnit apply(Object results) {
                    return BoxedUnit.UNIT;
                }
            });
    }

    /** Whether the shutdown is granted, or the error. */
    private Object shutDown(int broker, long epoch) {
        try {
            return Scala.collection(Reflect.call(controller, "doControlledShutdown", broker, epoch)).isEmpty();
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName();
        }
    }

    private void alterPartition(JsonNode o) {
        AlterPartitionRequestData.PartitionData partition = new AlterPartitionRequestData.PartitionData().setPartitionIndex(0)
            .setLeaderEpoch(o.get("leader_epoch").asInt()).setPartitionEpoch(o.get("partition_epoch").asInt()).setNewIsr(Harness.ids(o.get("isr")));
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(o.get("broker").asInt()).setBrokerEpoch(o.get("broker_epoch").asLong())
            .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(new Uuid(0, o.get("topic_of_leader").asInt())).setPartitions(List.of(partition))));
        Reflect.call(controller, "processAlterPartition", request, WITH_TOPIC_IDS, new AbstractFunction1<AlterPartitionResponseData, BoxedUnit>() {
            @Override
            public BoxedUnit apply(AlterPartitionResponseData response) {
                answer = shown(response);
                return BoxedUnit.UNIT;
            }
        });
    }

    // What is shown

    private static Object shown(AlterPartitionResponseData response) {
        if (response.errorCode() != 0)
            return Errors.forCode(response.errorCode()).name();
        AlterPartitionResponseData.PartitionData partition = response.topics().get(0).partitions().get(0);
        if (partition.errorCode() != 0)
            return Errors.forCode(partition.errorCode()).name();
        return List.of(partition.leaderId(), Scala.ids(partition.isr()), partition.leaderEpoch(), partition.partitionEpoch());
    }

    private static Object shown(AbstractControlRequest request) {
        List<Object> shown = StateMachines.shown(request);
        if (!(request instanceof UpdateMetadataRequest))
            return shown;
        List<Integer> live = new ArrayList<>();
        ((UpdateMetadataRequest) request).liveBrokers().forEach(each -> live.add(each.id()));
        List<Object> of = new ArrayList<>(shown == null ? List.of("UpdateMetadata", request.controllerEpoch(), request.brokerEpoch(), Map.of()) : shown);
        of.add(Scala.ids(live));
        return of;
    }

    private Map<String, Object> shown(int partitions, int brokers) {
        Map<String, Object> shown = new LinkedHashMap<>();
        boolean active = controller.isActive();
        shown.put("active", active);
        shown.put("requests", new TreeMap<>(sent));
        shown.put("answer", answer);
        shown.put("batch_left", ((scala.collection.Map<?, ?>) Reflect.read(ofReplicas(), "stopReplicaRequestMap")).nonEmpty());
        shown.put("zk", inZooKeeper(partitions));
        if (!active)
            return shown;
        shown.put("epoch", context.epoch());
        List<Object> live = new ArrayList<>(), of = new ArrayList<>();
        for (int id = 0; id < brokers; id++)
            live.add(Scala.unwrap(context.liveBrokerIdAndEpochs().get(id)));
        for (int number = 0; number < partitions; number++)
            of.add(known(StateMachines.partition(number), brokers));
        shown.put("live", live);
        shown.put("shutting_down", Scala.ids(context.shuttingDownBrokerIds()));
        Uuid topic = (Uuid) Scala.unwrap(context.topicIds().get(TOPIC));
        shown.put("topic", topic == null ? 0 : topic.getLeastSignificantBits());
        shown.put("partitions", of);
        shown.put("deleting", context.topicsToBeDeleted().contains(TOPIC));
        shown.put("deletion_begun", context.topicsWithDeletionStarted().contains(TOPIC));
        shown.put("deletion_halted", context.topicsIneligibleForDeletion().contains(TOPIC));
        return shown;
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> known(TopicPartition partition, int brokers) {
        Map<String, Object> shown = new LinkedHashMap<>();
        List<Object> states = new ArrayList<>();
        for (int id = 0; id < brokers; id++) {
            Option<ReplicaState> of = context.replicaStates().get(new PartitionAndReplica(partition, id));
            states.add(of.isEmpty() ? "NonExistentReplica" : of.get().toString());
        }
        shown.put("assignment", Scala.collection(context.partitionReplicaAssignment(partition)));
        shown.put("reassigning", context.partitionsBeingReassigned().contains(partition));
        Option<LeaderIsrAndControllerEpoch> known = context.partitionLeadershipInfo(partition);
        shown.put("leadership", known.isEmpty() ? null : StateMachines.shown(known.get().leaderAndIsr()));
        Object state = Scala.unwrap(((scala.collection.Map<TopicPartition, PartitionState>) Reflect.read(context, "partitionStates")).get(partition));
        shown.put("partition", state == null ? "NonExistentPartition" : state.toString());
        shown.put("replicas", states);
        return shown;
    }

    private Map<String, Object> inZooKeeper(int partitions) {
        Map<String, Object> shown = new LinkedHashMap<>();
        byte[] owner = nodes.data(ControllerZNode.path()), asked = nodes.data(ReassignPartitionsZNode.path());
        shown.put("controller", owner == null ? null : (Integer) Scala.unwrap(ControllerZNode.decode(owner)) == CONTROLLER);
        shown.put("controller_epoch", ControllerEpochZNode.decode(nodes.data(ControllerEpochZNode.path())));
        List<Object> of = new ArrayList<>();
        for (int number = 0; number < partitions; number++)
            of.add(written(StateMachines.partition(number), asked));
        shown.put("partitions", of);
        shown.put("deletion", nodes.exists(DeleteTopicsTopicZNode.path(TOPIC)));
        shown.put("preferred_election", nodes.exists(PreferredReplicaElectionZNode.path()));
        shown.put("isr_changed", nodes.exists(IsrChangeNotificationSequenceZNode.path("0")));
        return shown;
    }

    private Map<String, Object> written(TopicPartition partition, byte[] asked) {
        Map<String, Object> shown = new LinkedHashMap<>();
        byte[] topic = nodes.data(TopicZNode.path(TOPIC)), state = nodes.data(TopicPartitionStateZNode.path(partition));
        ReplicaAssignment assigned = topic == null ? null : (ReplicaAssignment) Scala.unwrap(TopicZNode.decode(TOPIC, topic).assignment().get(partition));
        shown.put("assignment", assigned == null ? List.of() : Scala.collection(assigned.replicas()));
        List<Object> of = null;
        if (state != null) {
            LeaderIsrAndControllerEpoch written = TopicPartitionStateZNode.decode(state, nodes.stat(TopicPartitionStateZNode.path(partition))).get();
            of = StateMachines.shown(written.leaderAndIsr());
            of.add(written.controllerEpoch());
        }
        shown.put("leadership", of);
        boolean waits = asked != null && ReassignPartitionsZNode.decode(asked).toOption().get().contains(partition);
        shown.put("reassignment", waits || assigned != null && assigned.isBeingReassigned());
        return shown;
    }
}
