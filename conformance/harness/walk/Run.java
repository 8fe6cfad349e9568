import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** One run: steps that were drawn or are given, invariants after each, and what was found. */
abstract class Run {
    /** A known defect ends the run. */
    static final class Ended extends RuntimeException {
        Ended() {
            super(null, null, false, false);
        }
    }

    static final String NOTHING_IS_THROWN = "nothing_is_thrown";
    private static final int MOST_IN_VAIN = 10_000;

    final String release;
    private final Set<String> newOnes;
    /** Known defects, and how often they were recognised. */
    final Map<KnownDefect, Integer> known = new EnumMap<>(KnownDefect.class);
    /** The steps that had an effect. */
    final List<Step> done = new ArrayList<>();
    /** What each of these changed, if that was asked for. */
    final List<List<String>> effects = new ArrayList<>();
    Violation violation;
    private Map<String, String> before;
    /** Processor time. */
    long nanos;

    Run(String release, Set<String> newOnes) {
        this.release = release;
        this.newOnes = newOnes;
    }

    // ---- what kinds of runs differ in

    /** Before the first step. */
    abstract void begin();

    /** Draw a step from chance and perform it; false if it has no effect. */
    abstract boolean drawOne();

    /** Do a step; false if it has no effect. */
    abstract boolean take(Step step);

    /** After each step. */
    abstract void check();

    /** After the last step: nothing fails any more. */
    abstract void end();

    /** What a schedule shows, by name. */
    abstract Map<String, String> seen();

    /** Two steps in one, if time passes in both; or null. */
    abstract Step merged(Step first, Step second);

    /** When the run is over. */
    void close() { }

    // ---- what they share

    /** Whether the release is this one or a later one. */
    boolean isFrom(String oldest) {
        return KnownDefect.isFrom(oldest, release);
    }

    private interface Part {
        void run();
    }

    /** Draw steps until so many had an effect, and let the run end. */
    void walk(int steps) {
        whole(() -> {
            for (int vain = 0; done.size() < steps && vain < MOST_IN_VAIN; vain++)
                if (drawOne())
                    vain = 0;
        });
    }

    /** Do what of these steps is possible, and let the run end. */
    void follow(List<Step> steps, boolean shown) {
        whole(() -> {
            before = shown ? seen() : null;
            steps.forEach(this::perform);
        });
    }

    /** A run from its beginning to its end, and what ends it. What Kafka throws is a violation. */
    private void whole(Part steps) {
        try {
            begin();
            steps.run();
            end();
        } catch (Violation found) {
            violation = found;
        } catch (Ended e) {
            // what is known may end a run
        } catch (RuntimeException | Error thrown) {
            if (Blame.isOwn(thrown))
                throw new Blame.Own(thrown);
            take(explained(thrown));
        } finally {
            close();
        }
    }

    private void take(Violation found) {
        try {
            broken(found);
        } catch (Violation fresh) {
            violation = fresh;
        }
    }

    /** What Kafka has thrown, and what recognisers of known defects ask about it. */
    Violation explained(Throwable thrown) {
        return new Violation(NOTHING_IS_THROWN + " by " + Blame.where(thrown), Blame.told(thrown));
    }

    /** The step that is performed, or the last one; null before the first. */
    Step performing() {
        return done.isEmpty() ? null : done.get(done.size() - 1);
    }

    /** Do a step and check what must hold then. A step counts before it is checked: it may be the one that breaks something. */
    boolean perform(Step step) {
        try {
            if (!took(step))
                return false;
            check();
        } finally {
            if (before != null && done.size() > effects.size())
                effects.add(changes());
        }
        return true;
    }

    /** Do a step; one that throws has had an effect. */
    private boolean took(Step step) {
        done.add(step);
        boolean effect = true;
        try {
            effect = take(step);
        } finally {
            if (!effect)
                done.remove(done.size() - 1);
        }
        return effect;
    }

    private List<String> changes() {
        Map<String, String> now = seen();
        List<String> changes = new ArrayList<>();
        now.forEach((what, value) -> {
            if (!value.equals(before.get(what)))
                changes.add(what.trim() + ": " + value);
        });
        before.keySet().forEach(what -> {
            if (!now.containsKey(what))
                changes.add(what.trim() + ": gone");
        });
        before = now;
        return changes;
    }

    /** Take a broken invariant: a known defect is counted, and a new one ends the run. */
    void broken(Violation found) {
        Optional<KnownDefect> defect = KnownDefect.of(found, release).filter(each -> !newOnes.contains(each.slug()));
        if (!defect.isPresent())
            throw found;
        known.merge(defect.get(), 1, Integer::sum);
    }
}
