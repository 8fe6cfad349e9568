import java.util.Set;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;

/** Whose an exception is: one that Kafka throws is a finding, one of the walk's own code is a fault of Highwater. */
final class Blame {
    /** What was reported to one of Kafka's fault handlers. */
    static final class Fault extends RuntimeException {
        Fault(String message, Throwable cause) {
            super(message, cause);
        }
    }

    /** A fault of the walk's own code. An error, since Kafka catches exceptions. */
    static final class Own extends Error {
        Own(Throwable cause) {
            super(cause);
        }
    }

    /** The log in memory refuses what Kafka's own on disk refuses, by these. */
    private static final String IN_MEMORY = "org.apache.kafka.raft.MemoryLog";
    private static final Set<Class<?>> LIKE_A_LOG = Set.of(KafkaException.class, CorruptRecordException.class, InvalidRecordException.class, OffsetOutOfRangeException.class,
        IllegalArgumentException.class, IllegalStateException.class);

    private static Own own;

    private Blame() { }

    /** Remember an exception of the walk's own code that Kafka is about to catch. */
    static void refuseOwn(Throwable thrown) {
        if (own == null && isOwn(thrown))
            own = new Own(thrown);
    }

    /** Throw what was remembered: the walk ends. */
    static void check() {
        if (own != null) {
            Own remembered = own;
            own = null;
            throw remembered;
        }
    }

    /** Whether code of the walk has thrown the innermost cause: its classes have no package. */
    static boolean isOwn(Throwable thrown) {
        Throwable innermost = innermost(thrown);
        if (innermost instanceof Own || innermost instanceof Reflect.Missing || innermost instanceof LinkageError || innermost instanceof OutOfMemoryError)
            return true;
        if (innermost instanceof Fault)
            return false;
        for (StackTraceElement each : innermost.getStackTrace()) {
            String name = each.getClassName();
            if (name.startsWith(IN_MEMORY))
                return each != innermost.getStackTrace()[0] || !LIKE_A_LOG.contains(innermost.getClass());
            if (name.startsWith("org.apache.kafka.") || name.startsWith("kafka."))
                return name.equals("org.apache.kafka.queue.KafkaEventQueue");
            if (!name.contains(".") && !name.startsWith("$"))
                return true;
        }
        return false;
    }

    static Throwable innermost(Throwable thrown) {
        Throwable at = thrown;
        while (at.getCause() != null && at.getCause() != at)
            at = at.getCause();
        return at;
    }

    /** An exception in a line: what was reported, the innermost cause, and the method of Kafka's that threw it. Topic ids differ by seed, and are left out. */
    static String told(Throwable thrown) {
        Throwable innermost = innermost(thrown);
        StackTraceElement frame = frame(innermost);
        String where = frame == null ? "" : " (" + method(frame) + ", line " + frame.getLineNumber() + ")";
        String reported = innermost == thrown ? "" : said(thrown) + ": ";
        return reported + innermost.getClass().getSimpleName() + ": " + said(innermost) + where;
    }

    /** The method of Kafka's that threw the innermost cause, or the name of the exception. */
    static String where(Throwable thrown) {
        StackTraceElement frame = frame(innermost(thrown));
        return frame == null ? innermost(thrown).getClass().getSimpleName() : method(frame);
    }

    private static StackTraceElement frame(Throwable thrown) {
        for (StackTraceElement each : thrown.getStackTrace())
            if (each.getClassName().startsWith("org.apache.kafka.") || each.getClassName().startsWith("kafka."))
                return each;
        return null;
    }

    private static String method(StackTraceElement frame) {
        return frame.getClassName().replaceAll(".*\\.", "") + "#" + frame.getMethodName();
    }

    private static String said(Throwable thrown) {
        return String.valueOf(thrown.getMessage()).replaceAll("\\b[A-Za-z0-9_-]{22}\\b", "...").replaceAll("\\s+", " ");
    }
}
