import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's public clients, driven by lines of JSON: one operation a line, one answer a line. Each client knows one
 * broker's address only, so that no paused broker is asked first. Producers do not retry: a record is written once or
 * not at all.
 */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    private final Map<String, Future<RecordMetadata>> sent = new HashMap<>();
    /** Of the consumer that reads on: its position, and how many fetches it has sent. */
    private volatile Map<String, Object> followed = Map.of();

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        Client client = new Client();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("answer", client.run(JSON.readTree(line)));
            } catch (Exception error) {
                Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
                answer.put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            out.println("> " + JSON.writeValueAsString(answer)); // Kafka's own lines are among them
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private Object run(JsonNode operation) throws Exception {
        String at = operation.path("at").asText();
        int limit = operation.path("limit").asInt(30_000);
        return switch (operation.get("op").asText()) {
            case "create" -> create(at, operation, limit);
            case "configure" -> configure(at, operation, limit);
            case "delete" -> delete(at, operation, limit);
            case "describe" -> describe(at, operation, limit);
            case "unregister" -> unregister(at, operation, limit);
            case "move" -> move(at, operation, limit);
            case "send" -> send(at, operation);
            case "outcome" -> outcome(operation.get("id").asText(), operation.path("wait").asInt(0));
            case "read" -> read(at, operation, limit);
            case "follow" -> follow(at, operation);
            case "followed" -> followed;
            case "join" -> join(at, operation, limit);
            default -> throw new IllegalArgumentException("unknown operation " + operation);
        };
    }

    /** Create a topic whose replicas are given by partition; the first one leads. */
    private Object create(String at, JsonNode operation, int limit) throws Exception {
        Map<Integer, List<Integer>> replicas = new HashMap<>();
        for (JsonNode partition : operation.get("replicas")) {
            List<Integer> brokers = new ArrayList<>();
            partition.forEach(broker -> brokers.add(broker.asInt()));
            replicas.put(replicas.size(), brokers);
        }
        Map<String, String> settings = new HashMap<>();
        operation.path("settings").fields().forEachRemaining(each -> settings.put(each.getKey(), each.getValue().asText()));
        try (Admin admin = admin(at, limit)) {
            admin.createTopics(List.of(new NewTopic(operation.get("topic").asText(), replicas).configs(settings)))
                .all().get();
        }
        return true;
    }

    private static Admin admin(String at, int limit) {
        return Admin.create(Map.of("bootstrap.servers", at, "request.timeout.ms", "" + limit,
            "default.api.timeout.ms", "" + limit));
    }

    /** Set keys of a topic's or a broker's configuration. */
    private Object configure(String at, JsonNode operation, int limit) throws Exception {
        ConfigResource of = new ConfigResource(ConfigResource.Type.valueOf(operation.get("kind").asText()),
            operation.get("name").asText());
        List<AlterConfigOp> changes = new ArrayList<>();
        operation.get("settings").fields().forEachRemaining(each -> changes.add(new AlterConfigOp(
            new ConfigEntry(each.getKey(), each.getValue().asText()), AlterConfigOp.OpType.SET)));
        try (Admin admin = admin(at, limit)) {
            admin.incrementalAlterConfigs(Map.of(of, changes)).all().get();
        }
        return true;
    }

    private Object delete(String at, JsonNode operation, int limit) throws Exception {
        try (Admin admin = admin(at, limit)) {
            admin.deleteTopics(List.of(operation.get("topic").asText())).all().get();
        }
        return true;
    }

    /** A partition as Admin describes it, eligible leader replicas included where the release has them. */
    private Object describe(String at, JsonNode operation, int limit) throws Exception {
        String topic = operation.get("topic").asText();
        try (Admin admin = admin(at, limit)) {
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions()
                .get(operation.path("partition").asInt(0)).toString();
        }
    }

    private Object unregister(String at, JsonNode operation, int limit) throws Exception {
        try (Admin admin = admin(at, limit)) {
            admin.unregisterBroker(operation.get("broker").asInt()).all().get();
        }
        return true;
    }

    /** Have a broker move its replica to another log directory. */
    private Object move(String at, JsonNode operation, int limit) throws Exception {
        TopicPartitionReplica replica = new TopicPartitionReplica(operation.get("topic").asText(),
            operation.get("partition").asInt(), operation.get("broker").asInt());
        try (Admin admin = admin(at, limit)) {
            admin.alterReplicaLogDirs(Map.of(replica, operation.get("directory").asText())).all().get();
        }
        return true;
    }

    /** Send a record, and do not wait for its acknowledgement. */
    private Object send(String at, JsonNode operation) throws Exception {
        String acks = operation.get("acks").asText();
        KafkaProducer<String, String> producer = producers.computeIfAbsent(at + acks, key -> new KafkaProducer<>(
            Map.of("bootstrap.servers", at, "acks", acks, "retries", "0", "enable.idempotence", "false", "linger.ms", "0",
                "request.timeout.ms", operation.path("timeout").asText("60000"),
                "delivery.timeout.ms", operation.path("timeout").asText("60000"), "max.block.ms", "15000"),
            new StringSerializer(), new StringSerializer()));
        List<Header> padding = List.of(new RecordHeader("padding", new byte[operation.path("padding").asInt(0)]));
        String key = null;
        sent.put(operation.get("id").asText(), producer.send(new ProducerRecord<>(operation.get("topic").asText(),
            operation.path("partition").asInt(0), key, operation.get("value").asText(), padding)));
        return true;
    }

    /** What became of a record: its offset, an error, or "waiting". */
    private Object outcome(String id, int wait) throws Exception {
        try {
            return Map.of("acknowledged", sent.get(id).get(wait, TimeUnit.MILLISECONDS).offset());
        } catch (TimeoutException error) {
            return Map.of("waiting", true);
        } catch (ExecutionException error) {
            return Map.of("refused", error.getCause().getClass().getSimpleName() + ": " + error.getCause().getMessage());
        }
    }

    /** All records that a consumer can read now, from the beginning. */
    private Object read(String at, JsonNode operation, int limit) {
        TopicPartition partition = partition(operation);
        Duration wait = Duration.ofMillis(limit);
        List<Map<String, Object>> records = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(Map.of("bootstrap.servers", at,
                "enable.auto.commit", "false", "auto.offset.reset", "earliest", "request.timeout.ms", "" + limit,
                "default.api.timeout.ms", "" + limit), new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition), wait).get(partition);
            long until = System.nanoTime() + wait.toNanos();
            while (consumer.position(partition, wait) < end && System.nanoTime() < until) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    Optional<Integer> epoch = record.leaderEpoch();
                    records.add(Map.of("offset", record.offset(), "epoch", epoch.orElse(-1), "value", record.value()));
                }
            }
            return Map.of("end", end, "records", records);
        }
    }

    private static TopicPartition partition(JsonNode operation) {
        return new TopicPartition(operation.get("topic").asText(), operation.path("partition").asInt(0));
    }

    /** A consumer with Kafka's defaults reads from the beginning, in a thread of its own, until the process ends. */
    private Object follow(String at, JsonNode operation) {
        TopicPartition partition = partition(operation);
        Thread thread = new Thread(() -> {
            KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", at, "enable.auto.commit", "false", "auto.offset.reset", "earliest"),
                new StringDeserializer(), new StringDeserializer());
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            while (true) {
                consumer.poll(Duration.ofMillis(50));
                followed = Map.of("position", consumer.position(partition), "fetches", fetches(consumer));
            }
        });
        thread.setDaemon(true);
        thread.start();
        return true;
    }

    /** "joined" once a consumer with Kafka's defaults is assigned partitions in a group, or what it gets instead within some time. */
    private Object join(String at, JsonNode operation, int limit) {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
            Map.of("bootstrap.servers", at, "group.id", operation.get("group").asText(), "enable.auto.commit", "false"),
            new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(operation.get("topic").asText()));
            long end = System.nanoTime() + limit * 1_000_000L;
            while (consumer.assignment().isEmpty() && System.nanoTime() < end)
                consumer.poll(Duration.ofMillis(50));
            return consumer.assignment().isEmpty() ? "not joined" : "joined";
        } catch (KafkaException error) {
            return error.getMessage();
        }
    }

    private static long fetches(KafkaConsumer<?, ?> consumer) {
        return consumer.metrics().entrySet().stream()
            .filter(each -> each.getKey().name().equals("fetch-total") && each.getKey().tags().keySet().equals(Set.of("client-id")))
            .mapToLong(each -> ((Double) each.getValue().metricValue()).longValue()).sum();
    }
}
