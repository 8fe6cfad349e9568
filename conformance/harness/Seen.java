import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * States by number: one that was written before is not written again. And what changes nothing is asked once for each step from one state to
 * another: walks take the same ones again and again.
 */
final class Seen {
    private static final int MOST = 100_000;

    private final Map<Object, Integer> numbers = new HashMap<>();
    private final Map<Object, Integer> steps = new HashMap<>();
    private List<Object> fresh = new ArrayList<>();
    private int next;
    private int first;

    /** Whoever drives the harness begins with something else, or what is kept has become too much. */
    void forget() {
        numbers.clear();
        steps.clear();
        first = next;
    }

    void forgetIfTooMuch() {
        if (numbers.size() > MOST || steps.size() > MOST)
            forget();
    }

    /**
     * The number of a state.
     *
     * @param step what has led to it, but for what is shown of it
     * @param shown its fields; they must not change any more
     * @param answers what is asked beside
     * @param anew whether to ask in any case
     */
    int number(List<Object> step, Map<String, Object> shown, Supplier<Map<String, Object>> answers, boolean anew) {
        Object key = Arrays.asList(step, shown);
        Integer known = anew ? null : steps.get(key);
        if (known == null) {
            Map<String, Object> whole = new HashMap<>(shown);
            whole.putAll(answers.get());
            known = numbers.computeIfAbsent(whole, state -> {
                fresh.add(Arrays.asList(next, state));
                return next++;
            });
            steps.put(key, known);
        }
        return known;
    }

    /** The results of a batch with the states that are new in them, each behind its number; and the first number that is not forgotten. */
    Map<String, Object> with(List<Object> results) {
        List<Object> states = fresh;
        fresh = new ArrayList<>();
        return Map.of("results", results, "states", states, "first", first);
    }
}
