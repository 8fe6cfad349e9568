import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Scala's collections and options from and to Java's; a value that is Java's already stays as it is. */
final class Scala {
    private Scala() { }

    static Object list(Collection<?> values) {
        return CollectionConverters.asScala(values).toList();
    }

    static Object set(Collection<?> values) {
        return CollectionConverters.asScala(values).toSet();
    }

    /** A value in whichever kind of option a parameter takes. */
    static Object option(Class<?> type, Object value) {
        return type == Option.class ? Option.apply(value) : Optional.ofNullable(value);
    }

    /** What is in an option of either kind, or null. */
    static Object unwrap(Object option) {
        if (option instanceof Option)
            return ((Option<?>) option).isEmpty() ? null : ((Option<?>) option).get();
        return option instanceof Optional ? ((Optional<?>) option).orElse(null) : option;
    }

    /** Either language's collection as Java's. */
    static Collection<?> collection(Object values) {
        return values instanceof Collection ? (Collection<?>) values : CollectionConverters.asJavaCollection((scala.collection.Iterable<?>) values);
    }

    /** Broker ids in order. */
    static List<Integer> ids(Object values) {
        TreeSet<Integer> sorted = new TreeSet<>();
        for (Object each : collection(values))
            sorted.add(((Number) each).intValue());
        return List.copyOf(sorted);
    }
}
