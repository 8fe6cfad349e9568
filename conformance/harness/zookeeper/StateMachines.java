import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.api.LeaderAndIsr;
import kafka.cluster.Broker;
import kafka.controller.ControllerBrokerRequestBatch;
import kafka.controller.ControllerContext;
import kafka.controller.Election;
import kafka.controller.ElectionResult;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.PartitionAndReplica;
import kafka.controller.PartitionState;
import kafka.controller.ReplicaAssignment;
import kafka.controller.ReplicaState;
import kafka.controller.StateChangeLogger;
import kafka.controller.ZkPartitionStateMachine;
import kafka.controller.ZkReplicaStateMachine;
import kafka.server.KafkaConfig;
import kafka.zk.ControllerEpochZNode;
import kafka.zk.KafkaZkClient;
import kafka.zk.TopicPartitionStateZNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.zookeeper.data.Stat;
import scala.Function1;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * The controller with ZooKeeper: Kafka's ZkReplicaStateMachine, ZkPartitionStateMachine and Election over a ControllerContext. There is one topic.
 *
 * Each operation sets up context and nodes, makes one call, and shows both and the requests that were sent. An own program, since releases
 * without ZooKeeper do not have these classes.
 */
public final class StateMachines {
    private static final TopicPartition FIRST = partition(0);
    private static final int CONTROLLER = 1000;

    private final Nodes nodes = Nodes.unconnected();
    private final ControllerContext context = new ControllerContext();
    private final KafkaZkClient client = (KafkaZkClient) Reflect.construct(KafkaZkClient.class,
        type -> type == boolean.class ? (Object) false : type == Time.class ? Time.SYSTEM : nodes);

    /** By whether unclean election is enabled. */
    private final Map<Boolean, Machines> machines = new HashMap<>();

    /** Both state machines, and the requests that they have sent, by broker. */
    private final class Machines {
        final StateChangeLogger logger = new StateChangeLogger(CONTROLLER, true, Option.empty());
        final Batch batch;
        final ZkReplicaStateMachine replicas;
        final ZkPartitionStateMachine partitions;

        Machines(boolean unclean) {
            Properties given = new Properties();
            given.setProperty("broker.id", String.valueOf(CONTROLLER));
            given.setProperty("reserved.broker.max.id", String.valueOf(CONTROLLER));
            given.setProperty("zookeeper.connect", "nowhere");
            given.setProperty("unclean.leader.election.enable", String.valueOf(unclean));
            KafkaConfig config = KafkaConfig.fromProps(given);
            batch = new Batch(config);
            replicas = new ZkReplicaStateMachine(config, logger, context, client, batch);
            partitions = new ZkPartitionStateMachine(config, logger, context, client, batch);
        }

        /** The batch that collects and addresses requests is Kafka's; only the network is missing. */
        final class Batch extends ControllerBrokerRequestBatch {
            final Map<Integer, List<Object>> sent = new TreeMap<>();

            /** Why requests were not sent. The state machines log it and go on. */
            String failure;

            Batch(KafkaConfig config) {
                super(config, null, null, context, logger);
            }

            @Override
            public void sendRequestsToBrokers(int controllerEpoch) {
                try {
                    super.sendRequestsToBrokers(controllerEpoch);
                } catch (RuntimeException e) {
                    failure = e.toString();
                    throw e;
                }
            }

            @Override
            public void sendRequest(int broker, AbstractControlRequest.Builder<? extends AbstractControlRequest> request,
                                    Function1<AbstractResponse, BoxedUnit> callback) {
                List<Object> each = shown(request.build());
                if (each != null)
                    sent.computeIfAbsent(broker, key -> new ArrayList<>()).add(each);
            }
        }
    }

    private StateMachines() throws ReflectiveOperationException { }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> new StateMachines()::after);
    }

    private Object after(JsonNode o) {
        return o.has("strategy") && !o.has("machine") ? elect(o) : move(o);
    }

    // What is set up

    private void setUp(JsonNode o) {
        context.resetContext();
        context.epoch_$eq(o.get("epoch").asInt());
        context.epochZkVersion_$eq(o.get("epoch").asInt());
        context.setAllTopics(CollectionConverters.asScala(java.util.Set.of("t")));
        context.addTopicId("t", new Uuid(0, o.path("topic").asInt(1)));
        Map<Broker, Object> live = new HashMap<>();
        JsonNode epochs = o.get("live");
        for (int id = 0; id < epochs.size(); id++)
            if (!epochs.get(id).isNull())
                live.put(new Broker(id, "localhost", 9092, ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT), SecurityProtocol.PLAINTEXT), epochs.get(id).asLong());
        context.setLiveBrokers(CollectionConverters.asScala(live));
        for (JsonNode each : o.get("shutting_down"))
            context.shuttingDownBrokerIds().add(each.asInt());
    }

    static TopicPartition partition(int number) {
        return new TopicPartition("t", number);
    }

    private static ReplicaAssignment assignment(JsonNode o) {
        if (o.path("target").isMissingNode() || o.get("target").isNull())
            return ReplicaAssignment.apply(ids(o.get("assignment")));
        return ReplicaAssignment.apply(ids(o.get("origin"))).reassignTo(ids(o.get("target")));
    }

    @SuppressWarnings("unchecked")
    static scala.collection.immutable.List<Object> ids(JsonNode array) {
        List<Object> ids = new ArrayList<>();
        for (JsonNode each : array)
            ids.add(each.asInt());
        return (scala.collection.immutable.List<Object>) Scala.list(ids);
    }

    /** Leader, ISR, leader epoch, partition epoch. */
    static LeaderAndIsr leadership(JsonNode o) {
        int leader = o.get(0).isNull() ? LeaderAndIsr.NoLeader() : o.get(0).asInt();
        return LeaderAndIsr.apply(leader, o.get(2).asInt(), ids(o.get(1)), LeaderRecoveryState.RECOVERED, o.get(3).asInt());
    }

    private void setUpStates(JsonNode o) {
        nodes.clear();
        nodes.put(ControllerEpochZNode.path(), ControllerEpochZNode.encode(o.get("controller_epoch").asInt()), o.get("controller_epoch").asInt());
        if (o.get("deleting").asBoolean())
            context.queueTopicDeletion(CollectionConverters.asScala(java.util.Set.of("t")).toSet());
        for (int number = 0; number < o.get("partitions").size(); number++)
            setUp(partition(number), o.get("partitions").get(number));
    }

    /** One partition. A controller that does not know it has no assignment of it. */
    private void setUp(TopicPartition partition, JsonNode o) {
        JsonNode known = o.get("leadership"), written = o.get("written");
        if (!o.get("assignment").isEmpty())
            context.updatePartitionFullReplicaAssignment(partition, assignment(o));
        if (!known.isNull())
            context.putPartitionLeadershipInfo(partition, new LeaderIsrAndControllerEpoch(leadership(known), known.get(4).asInt()));
        if (!written.isNull())
            nodes.put(TopicPartitionStateZNode.path(partition),
                TopicPartitionStateZNode.encode(new LeaderIsrAndControllerEpoch(leadership(written), written.get(4).asInt())), written.get(3).asInt());
        context.putPartitionState(partition, (PartitionState) named(o.get("partition")));
        for (int id = 0; id < o.get("replicas").size(); id++)
            context.putReplicaState(new PartitionAndReplica(partition, id), (ReplicaState) named(o.get("replicas").get(id)));
    }

    /** One of Kafka's objects of package kafka.controller, by name. */
    static Object named(JsonNode name) {
        return Reflect.constant(Reflect.type("kafka.controller." + name.asText() + "$"), "MODULE$");
    }

    // What is called

    private Object move(JsonNode o) {
        setUp(o);
        setUpStates(o);
        Machines used = machines.computeIfAbsent(o.get("unclean").asBoolean(), Machines::new);
        used.batch.sent.clear();
        used.batch.failure = null;
        boolean moved = false;
        try {
            handleStateChanges(used, o);
        } catch (ControllerMovedException e) {
            moved = true;
        } finally {
            used.batch.clear();
        }
        if (used.batch.failure != null)
            throw new IllegalStateException(used.batch.failure);
        return shown(moved, o.get("partitions").size(), o.get("live").size(), new TreeMap<>(used.batch.sent));
    }

    /** The ids are partitions, or replicas: each a partition and a broker. */
    @SuppressWarnings("unchecked")
    private static void handleStateChanges(Machines used, JsonNode o) {
        List<Object> moved = new ArrayList<>();
        for (JsonNode each : o.get("ids"))
            moved.add(each.isArray() ? new PartitionAndReplica(partition(each.get(0).asInt()), each.get(1).asInt()) : partition(each.asInt()));
        switch (o.get("machine").asText()) {
            case "replica":
                used.replicas.handleStateChanges((Seq<PartitionAndReplica>) Scala.list(moved), (ReplicaState) named(o.get("to")));
                break;
            case "partition":
                used.partitions.handleStateChanges((Seq<TopicPartition>) Scala.list(moved), (PartitionState) named(o.get("to")),
                    Option.apply(strategy(o.get("strategy"))));
                break;
            default:
                used.partitions.triggerOnlinePartitionStateChange();
        }
    }

    private static kafka.controller.PartitionLeaderElectionStrategy strategy(JsonNode name) {
        if (name.asText().equals("offline"))
            return new kafka.controller.OfflinePartitionLeaderElectionStrategy(false);
        String prefix = name.asText().equals("reassignment") ? "Reassign" : name.asText().equals("preferred") ? "PreferredReplica" : "ControlledShutdown";
        return (kafka.controller.PartitionLeaderElectionStrategy) Reflect.constant(
            Reflect.type("kafka.controller." + prefix + "PartitionLeaderElectionStrategy$"), "MODULE$");
    }

    /** An election by itself: leader and ISR, or null. */
    private Object elect(JsonNode o) {
        setUp(o);
        context.updatePartitionFullReplicaAssignment(FIRST, assignment(o));
        LeaderAndIsr current = leadership(o.get("leadership"));
        Seq<ElectionResult> results;
        switch (o.get("strategy").asText()) {
            case "offline":
                results = Election.leaderForOffline(context, true, one(new Tuple3<>(FIRST, Option.apply(current), o.get("unclean").asBoolean())));
                break;
            case "reassignment":
                results = Election.leaderForReassign(context, one(new Tuple2<>(FIRST, current)));
                break;
            case "preferred":
                results = Election.leaderForPreferredReplica(context, one(new Tuple2<>(FIRST, current)));
                break;
            default:
                results = Election.leaderForControlledShutdown(context, one(new Tuple2<>(FIRST, current)));
        }
        Option<LeaderAndIsr> elected = results.head().leaderAndIsr();
        return elected.isEmpty() ? null : shown(elected.get());
    }

    @SuppressWarnings("unchecked")
    private static <T> Seq<T> one(Object value) {
        return (Seq<T>) Scala.list(List.of(value));
    }

    // What is shown

    /** Whether the controller found itself deposed, by partition what it and ZooKeeper have, and by broker the requests. */
    @SuppressWarnings("unchecked")
    private Map<String, Object> shown(boolean moved, int partitions, int brokers, Map<Integer, List<Object>> sent) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("controller moved", moved);
        shown.put("requests", sent);
        for (int number = 0; number < partitions; number++)
            for (Map.Entry<String, Object> each : shown(partition(number), brokers).entrySet())
                ((List<Object>) shown.computeIfAbsent(each.getKey(), key -> new ArrayList<>())).add(each.getValue());
        return shown;
    }

    private Map<String, Object> shown(TopicPartition partition, int brokers) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("partition", context.partitionState(partition).toString());
        List<Object> states = new ArrayList<>();
        for (int id = 0; id < brokers; id++) {
            Option<ReplicaState> state = context.replicaStates().get(new PartitionAndReplica(partition, id));
            states.add(state.isEmpty() ? "NonExistentReplica" : state.get().toString());
        }
        shown.put("replicas", states);
        shown.put("assignment", Scala.collection(context.partitionReplicaAssignment(partition)));
        Option<LeaderIsrAndControllerEpoch> known = context.partitionLeadershipInfo(partition);
        shown.put("leadership", known.isEmpty() ? null : shown(known.get().leaderAndIsr()));
        shown.put("written", written(TopicPartitionStateZNode.path(partition)));
        return shown;
    }

    private Object written(String path) {
        byte[] data = nodes.data(path);
        if (data == null)
            return null;
        Stat stat = nodes.stat(path);
        LeaderIsrAndControllerEpoch written = TopicPartitionStateZNode.decode(data, stat).get();
        List<Object> shown = shown(written.leaderAndIsr());
        shown.add(written.controllerEpoch());
        return shown;
    }

    static List<Object> shown(LeaderAndIsr of) {
        return new ArrayList<>(Arrays.asList(nobody(of.leader()), Scala.ids(of.isr()), of.leaderEpoch(), of.partitionEpoch()));
    }

    private static Object nobody(int leader) {
        return leader == LeaderAndIsr.NoLeader() ? null : (Object) leader;
    }

    /** Kind, epochs of controller and broker, and by partition what the kind has of it; null if it is about no partition. */
    static List<Object> shown(AbstractControlRequest request) {
        List<Object> row = new ArrayList<>(List.of(request.controllerEpoch(), request.brokerEpoch()));
        Map<Integer, Object> partitions = new TreeMap<>();
        if (request instanceof LeaderAndIsrRequest) {
            row.add(0, "LeaderAndIsr");
            row.add(((LeaderAndIsrRequest) request).topicIds().get("t").getLeastSignificantBits());
            for (LeaderAndIsrPartitionState each : ((LeaderAndIsrRequest) request).partitionStates())
                partitions.put(each.partitionIndex(), Arrays.asList(nobody(each.leader()), each.leaderEpoch(), each.partitionEpoch(), Scala.ids(each.isr()),
                    Scala.ids(each.replicas())));
        } else if (request instanceof UpdateMetadataRequest) {
            row.add(0, "UpdateMetadata");
            for (UpdateMetadataPartitionState each : ((UpdateMetadataRequest) request).partitionStates())
                partitions.put(each.partitionIndex(), Arrays.asList(nobody(each.leader()), each.leaderEpoch()));
        } else {
            row.add(0, "StopReplica");
            ((StopReplicaRequest) request).partitionStates().forEach((partition, each) ->
                partitions.put(partition.partition(), List.of(each.leaderEpoch(), each.deletePartition())));
        }
        row.add(partitions);
        return partitions.isEmpty() ? null : row;
    }
}
