import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Callable;
import org.slf4j.impl.StaticLoggerBinder;

/**
 * Real Partitions of Kafka, one per broker, and a real controller, in one JVM, driven by lines of JSON: operations in, results out. Operations are an
 * array, or {"operations": [...], "anew": ...} with numbers for those that came before; all are forgotten first if "anew" is true.
 *
 * A result has "error" where Kafka threw, and "brokers": what is then seen of the brokers that the operation names in "see", as the number of a
 * state, which stands under "states" of the first answer that has it; "unseen" says which of them Kafka cannot show any more, and why. What changes
 * nothing is asked if the step is new, or if the operation has "ask". The line
 * {"missing": ...} says that this Kafka lacks a class or method that the harness calls, {"damaged": ...} that Java refuses a class.
 */
public final class Harness {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final boolean TRACE = Boolean.getBoolean("highwater.trace");
    private final File folder;
    private final Clock clock = new Clock();
    private final Properties topicConfig = new Properties();
    private final List<Broker> brokers = new ArrayList<>();
    private final Controller controller = new Controller();
    private final Seen seen = new Seen();
    private final Map<String, Integer> before = new HashMap<>();
    private final List<JsonNode> numbered = new ArrayList<>();
    /** Views of operations that have numbers: they come again and again. */
    private final Map<JsonNode, Kafka.View> views = new IdentityHashMap<>();
    private JsonNode settings;
    private boolean clockStandsStill;

    Harness(File folder) {
        this.folder = folder;
        topicConfig.setProperty("segment.index.bytes", "1024");
        topicConfig.setProperty("cleanup.policy", "delete");
        topicConfig.setProperty("retention.ms", "-1");
        topicConfig.setProperty("file.delete.delay.ms", "0");
    }

    public static void main(String[] arguments) throws Exception {
        Harness harness = new Harness(new File(arguments[0]));
        // whoever drives the harness may be gone, and cannot do it any more
        Runtime.getRuntime().addShutdownHook(new Thread(() -> delete(harness.folder)));
        serve(harness::all);
        delete(harness.folder);
        Runtime.getRuntime().halt(0);
    }

    interface Operations {
        Object of(JsonNode batch) throws Exception;
    }

    /** Answer each line with the results of its operations, until there are no more. What Kafka prints goes to standard error. */
    static void serve(Operations operations) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Object answer;
            try {
                answer = operations.of(JSON.readTree(line));
            } catch (Reflect.Missing e) {
                answer = Map.of("missing", e.getMessage());
            } catch (ExceptionInInitializerError e) {
                answer = Map.of("missing", String.valueOf(e.getCause() instanceof Reflect.Missing ? e.getCause().getMessage() : e.getCause()));
            } catch (VerifyError | ClassFormatError e) {
                answer = Map.of("damaged", e.toString());
            } catch (LinkageError e) {
                answer = Map.of("missing", e.toString());
            } catch (Throwable e) {
                // threads of Kafka's would keep the process, and nobody would ever be answered
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
                return;
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
    }

    interface Operation {
        Object of(JsonNode operation) throws Exception;
    }

    /**
     * Answer each line with an array of what comes of its operations, one by one, and end the process. The program starts with the first of them,
     * so that a start that fails is an answer, too.
     */
    static void answerEach(Callable<Operation> program) throws Exception {
        Operation[] started = {null};
        serve(operations -> {
            if (started[0] == null)
                started[0] = program.call();
            List<Object> answers = new ArrayList<>();
            for (JsonNode each : operations)
                answers.add(started[0].of(each));
            return answers;
        });
        Runtime.getRuntime().halt(0);
    }

    private static void delete(File file) {
        File[] inside = file.listFiles();
        if (inside != null)
            for (File each : inside)
                delete(each);
        file.delete();
    }

    Map<String, Object> all(JsonNode batch) throws Exception {
        seen.forgetIfTooMuch();
        List<Object> results = new ArrayList<>();
        if (batch.isArray()) {
            for (JsonNode each : batch)
                results.add(one(each));
            views.clear(); // operations without numbers do not come again
        } else {
            if (batch.get("anew").asBoolean()) {
                numbered.clear();
                views.clear();
            }
            for (JsonNode each : batch.get("operations"))
                results.add(one(byNumber(each)));
        }
        return seen.with(results);
    }

    /** An operation, which gets the next number, or the one that has a number. */
    private JsonNode byNumber(JsonNode operation) {
        if (operation.isInt())
            return numbered.get(operation.asInt());
        numbered.add(operation);
        return operation;
    }

    private Map<String, Object> one(JsonNode operation) throws Exception {
        Map<String, Object> result = new LinkedHashMap<>();
        try {
            Object value = apply(operation);
            if (value != null)
                result.put("value", value);
            for (JsonNode each : operation.path("see"))
                if (!each.isTextual())
                    brokers.get(each.asInt()).goOn();
        } catch (Reflect.Missing e) {
            throw e;
        } catch (Exception e) {
            result.put("error", e.getClass().getSimpleName() + (e.getMessage() == null ? "" : ": " + e.getMessage()));
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        for (JsonNode each : operation.path("see")) {
            try {
                Broker broker = each.isTextual() ? null : brokers.get(each.asInt());
                shown.put(each.asText(), number(each.asText(), broker, operation, result.containsKey("error")));
            } catch (Reflect.Missing e) {
                throw e;
            } catch (RuntimeException e) {
                result.put("unseen", each.asText() + ": " + e);
            }
        }
        result.put("brokers", shown);
        return result;
    }

    /** The number of the state in which an operation has left a broker, or the controller. */
    private int number(String name, Broker broker, JsonNode operation, boolean failed) {
        Map<String, Object> state = broker == null ? controller.state() : broker.state();
        List<Object> step = Arrays.asList(operation.get("do").asText(), operation.path("broker").asInt(), failed, name, before.get(name),
            broker == null ? null : broker.hidden());
        int number = seen.number(step, state, broker == null ? controller::records : broker::questions, operation.path("ask").asBoolean());
        before.put(name, number);
        return number;
    }

    private Object apply(JsonNode o) throws Exception {
        String name = o.get("do").asText();
        if (name.equals("reset"))
            return reset(o);
        if (name.equals("forget")) {
            seen.forget();
            brokers.forEach(Broker::beginInOrder);
            return null;
        }
        if (name.equals("dump")) {
            Reflect.call(Reflect.callStatic(Reflect.type("org.jacoco.agent.rt.RT"), "getAgent"), "dump", false);
            return null;
        }
        if (name.startsWith("controller "))
            return controller.apply(name.substring("controller ".length()), o, brokers);
        if (!clockStandsStill)
            clock.advance(2 * Clock.LAG_MAX_MS);
        Broker broker = brokers.get(o.get("broker").asInt());
        Kafka.View view = o.has("view") ? views.computeIfAbsent(o.get("view"), Harness::view) : null;
        if (view != null)
            broker(o, "viewer", broker).see(view);
        switch (name) {
            case "learn":
                int partitionEpoch = o.get("partition_epoch").asInt();
                broker.learn(new Kafka.State(o.get("leader").asInt(), o.get("leader_epoch").asInt(), partitionEpoch, ids(o.get("isr")), ids(o.get("replicas")),
                    controller.recorded(partitionEpoch, "addingReplicas"), controller.recorded(partitionEpoch, "removingReplicas"),
                    controller.recovering(partitionEpoch)), view);
                return null;
            case "append":
                broker.append(ids(o.get("records")), o.get("acks").asInt());
                return null;
            case "expire":
                broker.requests.expire(o.get("record").asInt());
                return null;
            case "fetch":
                broker.follower.fetch(broker(o, "leader", null));
                return null;
            case "ask":
                broker.follower.ask(broker(o, "leader", null));
                return null;
            case "send":
                broker.follower.send();
                return null;
            case "serve":
                broker.follower.serve(broker(o, "leader", null));
                return null;
            case "receive":
                broker.follower.receive();
                return null;
            case "lose":
                broker.follower.loseInAllWays();
                return null;
            case "spoil":
                broker.follower.spoil();
                return null;
            case "out_of_range":
                broker.follower.outOfRange(broker(o, "leader", null));
                return null;
            case "expand":
                broker.expandIsr(o.get("follower").asInt());
                return null;
            case "shrink":
                broker.shrinkIsr(ids(o.get("lagging")), ids(o.get("others")));
                return null;
            case "outlast":
                broker.lastCaughtUp(o.get("follower").asInt(), 0);
                return null;
            case "granted":
                broker.granted(o.get("leader_epoch").asInt(), o.get("partition_epoch").asInt(), ids(o.get("isr")));
                return null;
            case "refused":
                broker.refused(o.path("errors"));
                return null;
            case "trim":
                broker.deleteRecordsBelow(o.get("offset").asLong());
                return null;
            case "consume":
                return Kafka.readAt(Reflect.get(broker.fetch(-1, -1, o.get("offset").asLong(), -1, -1, -1), "records"), o.get("offset").asLong());
            case "begin_shutdown":
                broker.beginShutdown();
                return null;
            case "crash":
                broker.crash(o.path("kept").asInt(-1));
                return null;
            case "shut_down":
                broker.shutDown();
                return null;
            case "restart":
                broker.restart(o.get("epoch").asLong(), o.get("requests_forgotten").asBoolean());
                return null;
            case "move":
                broker.move();
                return null;
            case "checkpoint":
                broker.checkpoint();
                return null;
            case "nothing":
                return null;
            default:
                throw new IllegalArgumentException("no operation " + name);
        }
    }

    private Broker broker(JsonNode operation, String key, Broker otherwise) {
        return operation.has(key) ? brokers.get(operation.get(key).asInt()) : otherwise;
    }

    /** Begin with a partition whose logs are empty and that nobody knows of yet. */
    private Object reset(JsonNode o) {
        if (!o.equals(settings))
            seen.forget();
        settings = o;
        String minIsr = o.get("min_insync_replicas").asText();
        boolean reconfigured = !minIsr.equals(topicConfig.setProperty("min.insync.replicas", minIsr));
        clockStandsStill = o.get("clock_stands_still").asBoolean();
        before.clear();
        StaticLoggerBinder.lower = TRACE && !StaticLoggerBinder.lower;  // what is done without a message is executed, too
        while (brokers.size() < o.get("brokers").asInt())
            brokers.add(new Broker(brokers.size(), clock, new File(folder, "b" + brokers.size()), topicConfig));
        for (Broker each : brokers) {
            each.reset(reconfigured, o.path("fetch_records").asInt(1));
            each.moving.ahead = o.path("copied_ahead").asBoolean();
        }
        return null;
    }

    static List<Integer> ids(JsonNode array) {
        List<Integer> ids = new ArrayList<>();
        for (JsonNode each : array)
            ids.add(each.asInt());
        return ids;
    }

    private static Kafka.View view(JsonNode node) {
        List<Kafka.Registration> found = new ArrayList<>();
        for (JsonNode each : node)
            found.add(new Kafka.Registration(found.size(), each.get(0).asLong(), each.get(1).asText().equals("fenced"), each.get(1).asText().equals("shutting down")));
        return new Kafka.View(node.toString(), found);
    }
}
