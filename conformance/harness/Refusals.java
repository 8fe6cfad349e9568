import java.lang.reflect.Method;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;

/** Requests that a broker refuses in any state: of partitions and topics that it does not have, and with acks that nobody knows. By name, their errors. */
final class Refusals {
    private static final TopicPartition NO_PARTITION = new TopicPartition(Broker.TOPIC_PARTITION.topic(), 1);
    private static final TopicPartition INTERNAL = new TopicPartition("__consumer_offsets", 0);
    private static final TopicIdPartition OTHER_TOPIC = new TopicIdPartition(new Uuid(3, 1), Broker.TOPIC_PARTITION);
    private static final short UNKNOWN_ACKS = 5;

    private Refusals() { }

    static Map<String, String> of(Object replicaManager, boolean topicIdKnown) {
        Map<String, String> errors = new LinkedHashMap<>();
        TopicIdPartition absent = new TopicIdPartition(Broker.TOPIC_ID, NO_PARTITION);
        errors.put("produce to no partition", produced(replicaManager, absent, -1));
        errors.put("produce to an internal topic", produced(replicaManager, new TopicIdPartition(new Uuid(4, 1), INTERNAL), -1));
        errors.put("produce with unknown acks", produced(replicaManager, new TopicIdPartition(Broker.TOPIC_ID, Broker.TOPIC_PARTITION), UNKNOWN_ACKS));
        errors.put("fetch from no partition", fetched(replicaManager, absent));
        if (topicIdKnown)
            errors.put("fetch from another topic", fetched(replicaManager, OTHER_TOPIC));
        errors.put("delete from no partition", Requests.deleted(replicaManager, NO_PARTITION, 0, new Object[1]).name());
        errors.put("delete from an internal topic", Requests.deleted(replicaManager, INTERNAL, 0, new Object[1]).name());
        return errors;
    }

    private static String produced(Object replicaManager, TopicIdPartition partition, int acks) {
        String[] error = {"waits"};
        Method append = Reflect.byName(replicaManager.getClass(), "appendRecords");
        Object batch = Kafka.batch(List.of(0), 0);
        Reflect.invoke(replicaManager, append, Requests.ofAppend(replicaManager, append, Map.of(partition, batch), acks,
            answered -> error[0] = answered.values().iterator().next().name()));
        return error[0];
    }

    private static String fetched(Object replicaManager, TopicIdPartition partition) {
        FetchRequest.PartitionData asked = new FetchRequest.PartitionData(partition.topicId(), 0, 0, 1, Optional.empty(), Optional.empty());
        Object answer = Requests.fetched(replicaManager, partition, Kafka.fetchParams(-1, -1, 0), asked)[0];
        return answer == null ? "waits" : ((Errors) Reflect.get(answer, "error")).name();
    }
}
