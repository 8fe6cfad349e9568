import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;

/** A clock that stands still unless it is moved. */
final class Clock implements Time {
    static final long LAG_MAX_MS = 1_000;
    private long now = 1_000_000;

    void advance(long ms) {
        now += ms;
    }

    @Override
    public long milliseconds() {
        return now;
    }

    @Override
    public long nanoseconds() {
        return now * 1_000_000;
    }

    @Override
    public void sleep(long ms) {
        now += ms;
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
        throw new UnsupportedOperationException("nothing may wait in the harness");
    }
}
