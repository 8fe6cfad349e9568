import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.metadata.PartitionRegistration;

/** An invariant that a step has broken, and what recognisers of known defects may ask. Thrown, it ends the run. */
final class Violation extends RuntimeException {
    final String invariant;
    private final Map<String, Object> facts = new HashMap<>();

    Violation(String invariant, String text) {
        super(text, null, false, false);
        this.invariant = invariant;
    }

    Violation with(String name, Object fact) {
        facts.put(name, fact);
        return this;
    }

    boolean is(String fact) {
        return Boolean.TRUE.equals(facts.get(fact));
    }

    String word(String fact) {
        return (String) facts.getOrDefault(fact, "");
    }

    int number(String fact) {
        return (Integer) facts.getOrDefault(fact, -1);
    }

    PartitionRegistration partition(String fact) {
        return (PartitionRegistration) facts.get(fact);
    }
}
