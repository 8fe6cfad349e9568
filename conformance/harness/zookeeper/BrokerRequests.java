import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import kafka.controller.KafkaController;
import kafka.coordinator.group.GroupCoordinator;
import kafka.coordinator.group.GroupCoordinator$;
import kafka.coordinator.group.GroupCoordinatorAdapter;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.transaction.TransactionConfig;
import kafka.coordinator.transaction.TransactionCoordinator;
import kafka.coordinator.transaction.TransactionCoordinator$;
import kafka.coordinator.transaction.TransactionMarkerChannelManager;
import kafka.coordinator.transaction.TransactionStateManager;
import kafka.network.RequestChannel;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kafka.server.RequestLocal;
import kafka.server.ZkAdminManager;
import kafka.server.ZkBrokerEpochManager;
import kafka.server.ZkSupport;
import kafka.server.metadata.ZkMetadataCache;
import kafka.zookeeper.ZooKeeperClientExpiredException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ControllerMovedException;
import org.apache.kafka.common.errors.NotLeaderOrFollowerException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.memory.MemoryPool;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaTopicState;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataBroker;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataEndpoint;
import org.apache.kafka.common.message.UpdateMetadataRequestData.UpdateMetadataPartitionState;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StopReplicaRequest;
import org.apache.kafka.common.requests.UpdateMetadataRequest;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * What a broker does with a controller's requests, by lines of JSON: LeaderAndIsr, StopReplica and UpdateMetadata in, the broker after each of
 * them out.
 *
 * KafkaApis handles them, with a real ReplicaManager, Partition and log, a real metadata cache, and real coordinators, which do at once what they
 * schedule. Fetchers are there, and fetch nothing. Each run has partitions of its own, of the topic of groups or of the topic of transactions,
 * which may be made again with another topic id.
 */
public final class BrokerRequests {
    private static final int ME = 0, BROKERS = 3, CONTROLLER = 1000;
    private static final long BROKER_EPOCH = 1;
    private static final ListenerName LISTENER = ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT);

    private final Clock clock = new Clock();
    private final Broker broker;
    private final Object replicaManager;
    private final ZkMetadataCache cache;
    private final GroupMetadataManager groups;
    private final TransactionStateManager transactions;
    private final RequestChannel.Metrics metrics = new RequestChannel.Metrics(ApiMessageType.ListenerType.ZK_BROKER);
    private final KafkaApis apis;
    private String topic;
    private final List<TopicPartition> partitions = new ArrayList<>();
    private int next = 1;
    /** How many reads of a topic's configuration, one for each log that is opened, succeed before one fails. */
    private int readsBefore = Integer.MAX_VALUE;
    /** Whether a coordinator resigns later than it is asked to, and the resignation then. */
    private boolean late;
    private Runnable resignation;

    /** What is to be done at some time is done at once. */
    private static final class AtOnce extends KafkaScheduler {
        AtOnce() {
            super(1);
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            task.run();
            return null;
        }
    }

    private final class OfTransactions extends TransactionCoordinator {
        OfTransactions(TransactionCoordinator made) {
            super((TransactionConfig) Reflect.read(made, "txnConfig"), new AtOnce(), () -> null, transactions,
                (TransactionMarkerChannelManager) Reflect.read(made, "txnMarkerChannelManager"), clock, new LogContext());
        }

        @Override
        public void onResignation(int number, Option<Object> leaderEpoch) {
            if (late)
                resignation = () -> super.onResignation(number, leaderEpoch);
            else
                super.onResignation(number, leaderEpoch);
        }
    }

    private BrokerRequests(File folder) throws ReflectiveOperationException {
        Properties topicConfig = new Properties();
        topicConfig.setProperty("segment.index.bytes", "1024");
        topicConfig.setProperty("file.delete.delay.ms", "0");
        broker = new Broker(ME, clock, new File(folder, "b"), topicConfig);
        replicaManager = broker.replicaManager();
        cache = (ZkMetadataCache) Reflect.construct(ZkMetadataCache.class, type -> type == int.class ? (Object) ME : type == boolean.class ? (Object) false
            : type.getSimpleName().equals("Seq") ? Scala.list(List.of()) : type.getSimpleName().equals("MetadataVersion") ? Kafka.metadataVersion() : null);
        Reflect.field(ReplicaManager.class, "metadataCache").set(replicaManager, cache);
        Object logManager = Reflect.read(replicaManager, "logManager");
        Field configs = Reflect.field(logManager.getClass(), "configRepository");
        configs.set(logManager, Reflect.proxy(configs.getType(), (name, arguments) -> {
            if (readsBefore-- == 0)
                throw new ZooKeeperClientExpiredException("the session has ended");
            return topicConfig;
        }));
        KafkaConfig config = (KafkaConfig) broker.config();
        GroupCoordinator ofGroups = GroupCoordinator$.MODULE$.apply(config, (ReplicaManager) replicaManager, null, null, clock, new Metrics());
        groups = ofGroups.groupManager();
        Reflect.field(GroupMetadataManager.class, "scheduler").set(groups, new AtOnce());
        TransactionCoordinator made = TransactionCoordinator$.MODULE$.apply(config, (ReplicaManager) replicaManager, new AtOnce(), () -> null, new Metrics(), cache, clock);
        transactions = (TransactionStateManager) Reflect.read(made, "txnManager");
        transactions.startup(() -> Integer.MAX_VALUE, false);
        TransactionCoordinator ofTransactions = new OfTransactions(made);
        apis = (KafkaApis) Reflect.construct(KafkaApis.class, type -> {
            switch (type.getSimpleName()) {
                case "RequestChannel":
                    return new RequestChannel(1, "", clock, metrics);
                case "MetadataSupport":
                    return zooKeeper(config);
                case "ReplicaManager":
                    return replicaManager;
                case "GroupCoordinator":
                    return mayBeLate(type, new GroupCoordinatorAdapter(ofGroups, clock));
                case "TransactionCoordinator":
                    return ofTransactions;
                case "int":
                    return ME;
                case "KafkaConfig":
                    return config;
                case "MetadataCache":
                    return cache;
                case "Option":
                    return Option.empty();
                case "QuotaManagers":
                    return broker.quotas();
                case "Time":
                    return clock;
                default:
                    return null;
            }
        });
    }

    private Object mayBeLate(Class<?> type, Object coordinator) {
        return Reflect.proxy(type, (name, arguments) -> {
            if (!late || !name.equals("onResignation"))
                return Reflect.call(coordinator, name, arguments);
            resignation = () -> Reflect.call(coordinator, name, arguments);
            return null;
        });
    }

    /** What the broker has of ZooKeeper: a controller that knows the broker epoch, and does nothing. */
    private ZkSupport zooKeeper(KafkaConfig config) {
        KafkaController controller = (KafkaController) Reflect.construct(KafkaController.class, type -> type == long.class ? (Object) BROKER_EPOCH
            : type == KafkaConfig.class ? config : type == Option.class ? Option.empty() : type == Time.class ? clock : type == Metrics.class ? new Metrics() : null);
        return new ZkSupport(new ZkAdminManager(config, new Metrics(), cache, null), controller, null, Option.empty(), cache,
            new ZkBrokerEpochManager(cache, controller, Option.empty()));
    }

    public static void main(String[] arguments) throws Exception {
        Harness.answerEach(() -> new BrokerRequests(new File(arguments[0]))::after);
    }

    private Object after(JsonNode o) throws Exception {
        switch (o.get("do").asText()) {
            case "begin":
                begin(o.get("topic").asText(), o.get("partitions").asInt());
                break;
            case "leave":
                ((AtomicBoolean) Reflect.read(replicaManager, "isShuttingDown")).set(true);
                break;
            case "LeaderAndIsr":
                readsBefore = o.get("reads_before").asInt(Integer.MAX_VALUE);
                lead(o);
                break;
            case "StopReplica":
                late = o.get("late").asBoolean();
                stop(o.get("controller_epoch").asInt(), o.get("broker_epoch").asLong(), stopped(o));
                late = false;
                break;
            case "resign":
                resignation.run();
                break;
            case "UpdateMetadata":
                update(o.get("controller_epoch").asInt(), o.get("broker_epoch").asLong(), Harness.ids(o.get("live")), served(o));
                break;
            default:
                throw new IllegalArgumentException("no operation " + o);
        }
        return seen();
    }

    private void begin(String of, int count) throws Exception {
        if (!partitions.isEmpty())
            stop(Integer.MAX_VALUE, BROKER_EPOCH, partitions.stream().map(each -> stopped(each, -2, true)).collect(Collectors.toList()));
        broker.deleteFiles();
        topic = of.equals("groups") ? Topic.GROUP_METADATA_TOPIC_NAME : Topic.TRANSACTION_STATE_TOPIC_NAME;
        partitions.clear();
        for (int i = 0; i < count; i++)
            partitions.add(new TopicPartition(topic, next++));
        Reflect.call(replicaManager, "controllerEpoch_$eq", 0);
        ((AtomicBoolean) Reflect.read(replicaManager, "isShuttingDown")).set(false);
        update(0, BROKER_EPOCH, List.of(0, 1, 2), List.of());
    }

    /** The partition of the run that is meant. */
    private TopicPartition named(JsonNode o) {
        return partitions.get(o.get("partition").asInt());
    }

    private Uuid topicId(int made) {
        return new Uuid(partitions.get(0).partition(), 1 + made);
    }

    private void lead(JsonNode o) throws Exception {
        List<LeaderAndIsrPartitionState> states = new ArrayList<>();
        for (JsonNode each : o.get("partitions")) {
            int leader = each.get("leader").asInt(-1);
            broker.follower.prepare(leader);
            states.add(new LeaderAndIsrPartitionState().setTopicName(topic).setPartitionIndex(named(each).partition())
                .setControllerEpoch(o.get("controller_epoch").asInt()).setLeader(leader).setLeaderEpoch(each.get("leader_epoch").asInt())
                .setIsr(Harness.ids(each.get("isr"))).setPartitionEpoch(each.get("partition_epoch").asInt()).setReplicas(Harness.ids(each.get("replicas")))
                .setIsNew(true));
        }
        try {
            apis.handleLeaderAndIsrRequest(sent(new LeaderAndIsrRequest.Builder(ApiKeys.LEADER_AND_ISR.latestVersion(), CONTROLLER, o.get("controller_epoch").asInt(),
                o.get("broker_epoch").asLong(), states, Map.of(topic, topicId(o.get("topic").asInt())), List.of()).build()));
        } catch (ZooKeeperClientExpiredException | NotLeaderOrFollowerException e) {
            return;  // an error in KafkaApis#handle's answer: there is no leader that is alive, or no log in the same leader epoch
        }
    }

    private List<StopReplicaPartitionState> stopped(JsonNode o) {
        List<StopReplicaPartitionState> states = new ArrayList<>();
        for (JsonNode each : o.get("partitions"))
            states.add(stopped(named(each), each.get("leader_epoch").asInt(), each.get("delete").asBoolean()));
        return states;
    }

    private static StopReplicaPartitionState stopped(TopicPartition partition, int leaderEpoch, boolean delete) {
        return new StopReplicaPartitionState().setPartitionIndex(partition.partition()).setLeaderEpoch(leaderEpoch).setDeletePartition(delete);
    }

    private void stop(int controllerEpoch, long brokerEpoch, List<StopReplicaPartitionState> states) throws Exception {
        StopReplicaTopicState state = new StopReplicaTopicState().setTopicName(topic).setPartitionStates(states);
        apis.handleStopReplicaRequest(sent(new StopReplicaRequest.Builder(ApiKeys.STOP_REPLICA.latestVersion(), CONTROLLER, controllerEpoch,
            brokerEpoch, false, List.of(state)).build()));
    }

    /** The partitions of an UpdateMetadata. */
    private List<UpdateMetadataPartitionState> served(JsonNode o) {
        List<UpdateMetadataPartitionState> served = new ArrayList<>();
        for (JsonNode each : o.get("partitions")) {
            int leaderEpoch = each.get("leader_epoch").asInt();
            boolean deleted = leaderEpoch == -2;
            served.add(new UpdateMetadataPartitionState().setTopicName(topic).setPartitionIndex(named(each).partition())
                .setControllerEpoch(o.get("controller_epoch").asInt()).setLeader(deleted ? -2 : each.get("leader").asInt(-1))
                .setLeaderEpoch(deleted ? 0 : leaderEpoch).setIsr(Harness.ids(each.get("isr"))).setReplicas(List.of(0, 1, 2)));
        }
        return served;
    }

    private void update(int controllerEpoch, long brokerEpoch, List<Integer> live, List<UpdateMetadataPartitionState> served) throws Exception {
        List<UpdateMetadataBroker> brokers = new ArrayList<>();
        for (int id : live)
            brokers.add(new UpdateMetadataBroker().setId(id).setEndpoints(List.of(new UpdateMetadataEndpoint().setHost(Follower.HOST).setPort(id)
                .setListener(LISTENER.value()).setSecurityProtocol(SecurityProtocol.PLAINTEXT.id))));
        try {
            apis.handleUpdateMetadataRequest(sent(new UpdateMetadataRequest.Builder(ApiKeys.UPDATE_METADATA.latestVersion(), CONTROLLER, controllerEpoch,
                brokerEpoch, served, brokers, Map.of()).build()), RequestLocal.NoCaching());
        } catch (ControllerMovedException e) {
            return;  // an error in KafkaApis#handle's answer
        }
    }

    /** A request as the broker takes it from the network. */
    private RequestChannel.Request sent(AbstractControlRequest request) throws Exception {
        RequestHeader header = new RequestHeader(request.apiKey(), request.version(), "controller", 0);
        ByteBuffer bytes = request.serializeWithHeader(header);
        RequestContext context = new RequestContext(RequestHeader.parse(bytes), "0", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, LISTENER,
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
        return new RequestChannel.Request(0, context, 0, MemoryPool.NONE, bytes, metrics, Option.empty());
    }

    /** What the broker knows, and of each partition. */
    private Map<String, Object> seen() {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("controller_epoch", Reflect.call(replicaManager, "controllerEpoch"));
        List<Integer> dead = new ArrayList<>();
        for (int other = 0; other < BROKERS; other++)
            if (!cache.hasAliveBroker(other))
                dead.add(other);
        seen.put("dead", dead);
        seen.put("failed", readsBefore < 0);
        seen.put("partitions", partitions.stream().map(this::seen).collect(Collectors.toList()));
        return seen;
    }

    /** What the broker knows of a partition; of ISR, assignment and partition epoch as a leader. */
    private Map<String, Object> seen(TopicPartition partition) {
        Map<String, Object> seen = new LinkedHashMap<>();
        Object one = Scala.unwrap(Reflect.call(replicaManager, "onlinePartition", partition));
        int leaderEpoch = one == null ? -1 : (Integer) Reflect.call(one, "getLeaderEpoch");
        boolean leads = one != null && (Boolean) Reflect.call(one, "isLeader");
        Object fetcher = Scala.unwrap(Reflect.call(Reflect.call(replicaManager, "replicaFetcherManager"), "getFetcher", partition));
        seen.put("leader_epoch", leaderEpoch);
        seen.put("role", leads ? "leader" : fetcher != null ? "follower" : leaderEpoch < 0 ? "none" : "stopped");
        seen.put("leader", one == null ? null : Scala.unwrap(Reflect.call(one, "leaderReplicaIdOpt")));
        seen.put("isr", leads ? Scala.ids(Reflect.call(one, "inSyncReplicaIds")) : List.of());
        seen.put("replicas", leads ? Scala.ids(Reflect.call(Reflect.call(one, "assignmentState"), "replicas")) : List.of());
        seen.put("partition_epoch", leads ? Reflect.call(one, "getPartitionEpoch") : 0);
        Object log = Scala.unwrap(Reflect.call(Reflect.read(replicaManager, "logManager"), "getLog", partition, false));
        Uuid id = log == null ? null : (Uuid) Scala.unwrap(Reflect.call(log, "topicId"));
        seen.put("log", id == null ? null : id.getLeastSignificantBits() - 1);
        seen.put("fetch", fetcher == null ? null : List.of(Reflect.call(Reflect.call(Reflect.call(fetcher, "leader"), "brokerEndPoint"), "id"),
            Reflect.call(Scala.unwrap(Reflect.call(fetcher, "fetchState", partition)), "currentLeaderEpoch")));
        int number = partition.partition();
        boolean ofGroups = topic.equals(Topic.GROUP_METADATA_TOPIC_NAME);
        scala.collection.Map<?, ?> loaded = (scala.collection.Map<?, ?>) Reflect.call(transactions, "transactionMetadataCache");
        seen.put("coordinates", ofGroups ? groups.isPartitionOwned(number) : CollectionConverters.asJava(loaded).containsKey(number));
        seen.put("coordinator_epoch", groups.epochForPartitionId().getOrDefault(number, 0));
        UpdateMetadataPartitionState served = (UpdateMetadataPartitionState) Scala.unwrap(cache.getPartitionInfo(topic, number));
        seen.put("metadata", served == null ? null : List.of(served.leader(), served.leaderEpoch(), served.isr()));
        return seen;
    }
}
