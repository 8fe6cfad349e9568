import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;
import java.util.function.Function;

/** Delta debugging: the fewest steps that still break the same invariant, of those that leaving steps out leads to. */
final class Shrinking {
    private Shrinking() { }

    /**
     * Leave out ever smaller parts, until no single step can be left out.
     *
     * @param still what a schedule still does of it: those of its steps that had an effect, or null if it does not break the invariant
     */
    static List<Step> shrink(List<Step> steps, Function<List<Step>, List<Step>> still) {
        List<Step> least = steps;
        for (int part = Math.max(1, least.size() / 2); ; part = part / 2) {
            boolean shorter = true;
            while (shorter) {
                int before = least.size();
                least = pass(least, part, still);
                shorter = part == 1 && least.size() < before;
            }
            if (part <= 1)
                return least;
        }
    }

    /** Two steps side by side become one where that is possible, and all others stay. */
    static List<Step> merge(List<Step> steps, BinaryOperator<Step> merged, Function<List<Step>, List<Step>> still) {
        List<Step> least = steps;
        for (int at = 0; at + 1 < least.size(); ) {
            Step one = merged.apply(least.get(at), least.get(at + 1));
            List<Step> fewer = new ArrayList<>(least);
            if (one != null) {
                fewer.remove(at + 1);
                fewer.set(at, one);
            }
            List<Step> left = one == null ? null : still.apply(fewer);
            if (left != null && left.size() < least.size())
                least = left;
            else
                at++;
        }
        return least;
    }

    /** From the end, where what is left out matters least. */
    private static List<Step> pass(List<Step> steps, int part, Function<List<Step>, List<Step>> still) {
        List<Step> least = steps;
        for (int end = least.size(); end > 0; end = Math.min(end - part, least.size())) {
            List<Step> fewer = new ArrayList<>(least.subList(0, Math.max(0, end - part)));
            fewer.addAll(least.subList(end, least.size()));
            List<Step> left = still.apply(fewer);
            if (left != null && left.size() < least.size())
                least = left;
        }
        return least;
    }
}
