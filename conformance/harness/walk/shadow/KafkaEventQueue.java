package org.apache.kafka.queue;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeSet;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;

/**
 * Kafka's class of this name starts the only threads that a controller, a broker's lifecycle manager and a metadata loader
 * have. This one comes first on the class path and starts none: an event runs when it is enqueued, or after the one that runs. A
 * deferred event waits until it is due by the walk's clock and the walk runs it.
 */
public final class KafkaEventQueue implements EventQueue {
    /** Hears of each queue that is made. */
    public static Consumer<KafkaEventQueue> onMade = queue -> { };

    /** The walk's clock: until 4.1 MetadataLoader hands over the machine's. */
    public static Time clock;

    /** Hears of what an event throws, before the event does. */
    public static Consumer<Throwable> onThrown = thrown -> { };

    private static final class Waiting {
        final long due, number;
        final String tag;
        final Event event;

        Waiting(long due, long number, String tag, Event event) {
            this.due = due;
            this.number = number;
            this.tag = tag;
            this.event = event;
        }
    }

    private final Event cleanup;
    private final Deque<Event> ready = new ArrayDeque<>();
    private final TreeSet<Waiting> waiting = new TreeSet<>(Comparator.<Waiting>comparingLong(each -> each.due).thenComparingLong(each -> each.number));
    private final Map<String, Waiting> byTag = new HashMap<>();
    private long made;
    private boolean busy, closing;

    public KafkaEventQueue(Time time, LogContext context, String threadNamePrefix) {
        this(time, context, threadNamePrefix, VoidEvent.INSTANCE);
    }

    public KafkaEventQueue(Time time, LogContext context, String threadNamePrefix, Event cleanup) {
        this.cleanup = cleanup;
        onMade.accept(this);
    }

    public KafkaEventQueue(Time time, LogContext context, String threadNamePrefix, Event cleanup, BiConsumer<Long, Long> idle) {
        this(time, context, threadNamePrefix, cleanup);
    }

    /** Until 3.9 the interface takes a Function, since 4.0 a UnaryOperator: one of these two implements it. */
    public void enqueue(EventInsertionType type, String tag, UnaryOperator<OptionalLong> deadline, Event event) {
        enqueue(type, tag, (Function<OptionalLong, OptionalLong>) deadline, event);
    }

    public void enqueue(EventInsertionType type, String tag, Function<OptionalLong, OptionalLong> deadline, Event event) {
        if (closing) {
            event.handleException(new RejectedExecutionException("The queue is closed."));
            return;
        }
        Waiting replaced = tag == null ? null : byTag.remove(tag);
        if (replaced != null)
            waiting.remove(replaced);
        OptionalLong due = deadline.apply(replaced == null ? OptionalLong.empty() : OptionalLong.of(replaced.due));
        if (type == EventInsertionType.DEFERRED)
            defer(new Waiting(due.getAsLong(), made++, tag, event));
        else if (type == EventInsertionType.PREPEND)
            ready.addFirst(event);
        else
            ready.addLast(event);
        work();
    }

    private void defer(Waiting each) {
        waiting.add(each);
        if (each.tag != null)
            byTag.put(each.tag, each);
    }

    private void work() {
        if (busy)
            return;
        busy = true;
        for (Event event = ready.poll(); event != null; event = ready.poll())
            try {
                event.run();
            } catch (Throwable thrown) {
                onThrown.accept(thrown);
                event.handleException(thrown);
            }
        busy = false;
        if (closing)
            finish();
    }

    private void finish() {
        List<Waiting> left = new ArrayList<>(waiting);
        waiting.clear();
        byTag.clear();
        left.forEach(each -> each.event.handleException(new RejectedExecutionException("The queue is closed.")));
        try {
            cleanup.run();
        } catch (Throwable thrown) {
            onThrown.accept(thrown);
        }
    }

    /** When the next deferred event is due, in nanoseconds of the walk's clock; the greatest number if none waits. */
    public long nextDue() {
        return waiting.isEmpty() ? Long.MAX_VALUE : waiting.first().due;
    }

    /** Run the deferred event that is due first. */
    public void runNext() {
        Waiting next = waiting.pollFirst();
        if (next.tag != null)
            byTag.remove(next.tag, next);
        ready.addFirst(next.event);
        work();
    }

    public Time time() {
        return clock;
    }

    @Override
    public void cancelDeferred(String tag) {
        Waiting cancelled = byTag.remove(tag);
        if (cancelled != null)
            waiting.remove(cancelled);
    }

    @Override
    public void beginShutdown(String source) {
        if (closing)
            return;
        closing = true;
        work();
    }

    @Override
    public int size() {
        return ready.size() + waiting.size();
    }

    public void wakeup() { }

    @Override
    public void close() {
        beginShutdown("close");
    }
}
