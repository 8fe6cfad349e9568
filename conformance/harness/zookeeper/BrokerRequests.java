import com.fasterxml.jackson.databind.JsonNode;
import java.io.File;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.LeaderAndIsrRequestData.LeaderAndIsrPartitionState;
import org.apache.kafka.common.message.StopReplicaRequestData.StopReplicaPartitionState;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.LeaderAndIsrRequest;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.BoxedUnit;

/**
 * What a broker does with a controller's requests, by lines of JSON: LeaderAndIsr and StopReplica in, the broker after each of them out.
 *
 * ReplicaManager, Partition and log are real. Fetchers are there, and fetch nothing. Which brokers are alive is in the metadata cache. Each run has
 * a topic of its own, which may be made again with another id.
 */
public final class BrokerRequests {
    private static final int ME = 0, BROKERS = 3, CONTROLLER = 1000;

    private final Clock clock = new Clock();
    private final Broker broker;
    private final Object replicaManager;
    private TopicPartition partition;
    private int topics;

    private BrokerRequests(File folder) {
        Properties topicConfig = new Properties();
        topicConfig.setProperty("segment.index.bytes", "1024");
        topicConfig.setProperty("file.delete.delay.ms", "0");
        broker = new Broker(ME, clock, new File(folder, "b"), topicConfig);
        replicaManager = broker.replicaManager();
    }

    public static void main(String[] arguments) throws Exception {
        BrokerRequests one = new BrokerRequests(new File(arguments[0]));
        Harness.answerEach(one::after);
    }

    private Object after(JsonNode o) {
        switch (o.get("do").asText()) {
            case "begin":
                begin();
                break;
            case "leave":
                ((AtomicBoolean) Reflect.read(replicaManager, "isShuttingDown")).set(true);
                break;
            case "LeaderAndIsr":
                lead(o);
                break;
            case "StopReplica":
                stop(o.get("controller_epoch").asInt(), o.get("leader_epoch").asInt(), o.get("delete").asBoolean());
                break;
            default:
                throw new IllegalArgumentException("no operation " + o);
        }
        return seen();
    }

    private void begin() {
        if (partition != null)
            stop(Integer.MAX_VALUE, -2, true);
        broker.deleteFiles();
        partition = new TopicPartition("t" + ++topics, 0);
        Reflect.call(replicaManager, "controllerEpoch_$eq", 0);
        ((AtomicBoolean) Reflect.read(replicaManager, "isShuttingDown")).set(false);
    }

    private void lead(JsonNode o) {
        List<Kafka.Registration> alive = new ArrayList<>();
        for (int id = 0; id < BROKERS; id++)
            alive.add(new Kafka.Registration(id, 0, Harness.ids(o.get("dead")).contains(id), false));
        broker.see(new Kafka.View(alive + o.get("dead").toString(), alive));
        int leader = o.get("leader").asInt(-1);
        broker.follower.prepare(leader);
        LeaderAndIsrPartitionState state = new LeaderAndIsrPartitionState().setTopicName(partition.topic()).setPartitionIndex(0)
            .setControllerEpoch(o.get("controller_epoch").asInt()).setLeader(leader).setLeaderEpoch(o.get("leader_epoch").asInt())
            .setIsr(Harness.ids(o.get("isr"))).setPartitionEpoch(o.get("partition_epoch").asInt()).setReplicas(Harness.ids(o.get("replicas"))).setIsNew(true);
        LeaderAndIsrRequest request = new LeaderAndIsrRequest.Builder(ApiKeys.LEADER_AND_ISR.latestVersion(), CONTROLLER, o.get("controller_epoch").asInt(), 0,
            List.of(state), Map.of(partition.topic(), new Uuid(topics, 1 + o.get("topic").asInt())), List.of()).build();
        scala.Function2<Object, Object, BoxedUnit> moved = (leaders, followers) -> BoxedUnit.UNIT;
        Reflect.call(replicaManager, "becomeLeaderOrFollower", 0, request, moved);
    }

    private void stop(int controllerEpoch, int leaderEpoch, boolean delete) {
        StopReplicaPartitionState state = new StopReplicaPartitionState().setPartitionIndex(0).setLeaderEpoch(leaderEpoch).setDeletePartition(delete);
        Method stop = Reflect.byName(replicaManager.getClass(), "stopReplicas");
        Reflect.invoke(replicaManager, stop, 0, CONTROLLER, controllerEpoch, CollectionConverters.asScala(Map.of(partition, state)));
    }

    /** What the broker knows of the partition; of ISR, assignment and partition epoch as a leader. */
    private Map<String, Object> seen() {
        Map<String, Object> seen = new LinkedHashMap<>();
        Object one = Scala.unwrap(Reflect.call(replicaManager, "onlinePartition", partition));
        int leaderEpoch = one == null ? -1 : (Integer) Reflect.call(one, "getLeaderEpoch");
        boolean leads = one != null && (Boolean) Reflect.call(one, "isLeader");
        boolean fetches = Scala.unwrap(Reflect.call(Reflect.call(replicaManager, "replicaFetcherManager"), "getFetcher", partition)) != null;
        seen.put("controller_epoch", Reflect.call(replicaManager, "controllerEpoch"));
        seen.put("leader_epoch", leaderEpoch);
        seen.put("role", leads ? "leader" : fetches ? "follower" : leaderEpoch < 0 ? "none" : "stopped");
        seen.put("leader", one == null ? null : Scala.unwrap(Reflect.call(one, "leaderReplicaIdOpt")));
        seen.put("isr", leads ? Scala.ids(Reflect.call(one, "inSyncReplicaIds")) : List.of());
        seen.put("replicas", leads ? Scala.ids(Reflect.call(Reflect.call(one, "assignmentState"), "replicas")) : List.of());
        seen.put("partition_epoch", leads ? Reflect.call(one, "getPartitionEpoch") : 0);
        Object log = Scala.unwrap(Reflect.call(Reflect.read(replicaManager, "logManager"), "getLog", partition, false));
        Uuid id = log == null ? null : (Uuid) Scala.unwrap(Reflect.call(log, "topicId"));
        seen.put("log", id == null ? null : id.getLeastSignificantBits() - 1);
        return seen;
    }
}
