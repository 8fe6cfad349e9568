import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Random walks of Kafka's own controllers and quorums, whose logs are in the folder that is named. Standard input has a batch of operations on each line, and standard output a list with
 * the result of each: `walk` makes one run from a seed, `shrink` makes the run of a seed short, `follow` does given steps.
 */
public final class Walk {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static File folder;

    private Walk() { }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);  // nothing else is printed between answers
        folder = new File(arguments[0]);
        Chance.install();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(JSON.writeValueAsString(answers(JSON.readTree(line))));
            out.flush();
        }
        System.exit(0);
    }

    private static Object answers(JsonNode operations) {
        List<Object> answers = new ArrayList<>();
        try {
            for (JsonNode each : operations)
                answers.add(answer(each));
        } catch (Reflect.Missing | LinkageError e) {
            return Map.of("missing", String.valueOf(e));
        } catch (Blame.Own e) {
            Throwable cause = Blame.innermost(e);
            return cause instanceof Reflect.Missing || cause instanceof LinkageError ? Map.of("missing", String.valueOf(cause)) : own(cause);
        } catch (RuntimeException | Error e) {
            return own(e);
        }
        return answers;
    }

    private static Object own(Throwable fault) {
        StackTraceElement[] where = fault.getStackTrace();
        return Map.of("own", fault + (where.length > 0 ? " at " + where[0] : ""));
    }

    private static Object answer(JsonNode o) {
        switch (o.get("do").asText()) {
            case "walk":
                return told(walked(o), o, o.has("shown"));
            case "shrink":
                return shrunk(o);
            case "compare":
                return LogComparison.compared(o.get("seed").asLong(), o.get("steps").asInt(), KnownDefect.isFrom("4.0", o.get("release").asText()), new File(folder, "logs"));
            case "known":
                return Map.of("names", Arrays.stream(KnownDefect.values()).map(KnownDefect::slug).collect(Collectors.toList()),
                    "kinds", Arrays.stream(kinds(o)).map(each -> each.name().toLowerCase(Locale.ROOT)).collect(Collectors.toList()));
            default:
                return replayed(o);
        }
    }

    private static Run begun(JsonNode o) {
        Set<String> newOnes = new TreeSet<>();
        o.path("new").forEach(each -> newOnes.add(each.asText()));
        String release = o.get("release").asText();
        long seed = o.get("seed").asLong();
        return ofQuorum(o) ? new QuorumRun(release, newOnes, seed, o.get("log").asText().equals("disk") ? new File(folder, "run") : null) : new ControllerRun(release, newOnes, o.get("elr").asBoolean(), seed);
    }

    private static boolean ofQuorum(JsonNode o) {
        return o.get("who").asText().equals("quorum");
    }

    private static Step.Kind[] kinds(JsonNode o) {
        return ofQuorum(o) ? QuorumRun.Kind.values() : ControllerRun.Kind.values();
    }

    private static Run walked(JsonNode o) {
        long began = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        Run run = begun(o);
        run.walk(o.get("steps").asInt());
        run.nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - began;
        return run;
    }

    private static Object shrunk(JsonNode o) {
        Run whole = walked(o);
        if (whole.violation == null)
            throw new IllegalStateException("the run of seed " + o.get("seed") + " breaks nothing any more");
        Function<List<Step>, List<Step>> still = steps -> {
            Run run = begun(o);
            run.follow(steps, false);
            return run.violation != null && run.violation.invariant.equals(whole.violation.invariant) ? run.done : null;
        };
        List<Step> least = Shrinking.shrink(whole.done, still);
        List<Step> merged = Shrinking.merge(least, whole::merged, still);
        return followed(o, Shrinking.shrink(merged, still), true);
    }

    private static Object followed(JsonNode o, List<Step> steps, boolean shown) {
        Run run = begun(o);
        run.follow(steps, shown);
        return told(run, o, shown);
    }

    /** Take steps that a file has. */
    private static Object replayed(JsonNode o) {
        List<Step> steps = new ArrayList<>();
        for (JsonNode each : o.get("schedule")) {
            Step step = Step.parse(each.asText(), kinds(o));
            if (step == null)
                return Map.of("bad", each.asText());
            steps.add(step);
        }
        return followed(o, steps, true);
    }

    private static Object told(Run run, JsonNode o, boolean shown) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("steps", run.done.size());
        told.put("nanos", run.nanos);
        Map<String, Integer> known = new LinkedHashMap<>();
        run.known.forEach((defect, times) -> known.put(defect.slug(), times));
        told.put("known", known);
        Map<String, Integer> taken = new TreeMap<>();
        run.done.forEach(each -> taken.merge(each.kind.name().toLowerCase(Locale.ROOT), 1, Integer::sum));
        told.put("taken", taken);
        if (run.violation != null) {
            told.put("invariant", run.violation.invariant);
            told.put("violation", run.violation.getMessage());
        }
        if (shown) {
            told.put("schedule", run.done.stream().map(Step::toString).collect(Collectors.toList()));
            told.put("effects", run.effects);
        }
        return told;
    }
}
