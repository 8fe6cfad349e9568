import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Kafka's controllers and brokers' control side in one thread, around a metadata log that is the walk's. Only steps let time
 * pass, deliver requests, commit batches and tell nodes of them.
 */
final class ControlPlane {
    static final int CONTROLLERS = 3, BROKERS = 4, FIRST_CONTROLLER = 100, NOBODY = -1;
    private static final long CALM_MS = 500;
    private static final Class<?> BATCH = Reflect.type("org.apache.kafka.raft.Batch");
    private static final Object BEGINS_EPOCH = Reflect.make(Reflect.longest(Reflect.type("org.apache.kafka.raft.ControlRecord")),
        Reflect.enumOf(Reflect.type("org.apache.kafka.common.record.internal.ControlRecordType", "org.apache.kafka.common.record.ControlRecordType"), "LEADER_CHANGE"),
        new LeaderChangeMessage());

    /** A batch of the metadata log. The one that begins an epoch has no records. */
    static final class Batch {
        final long base;
        final int epoch;
        final List<ApiMessageAndVersion> records;

        Batch(long base, int epoch, List<ApiMessageAndVersion> records) {
            this.base = base;
            this.epoch = epoch;
            this.records = records;
        }

        long end() {
            return base + Math.max(1, records.size());
        }
    }

    final Clock clock = new Clock();
    final boolean elr;
    final List<Batch> committed = new ArrayList<>();
    /** What the active controller has appended beyond. */
    final List<Batch> uncommitted = new ArrayList<>();
    final List<WalkedController> controllers = new ArrayList<>();
    final List<WalkedBroker> brokers = new ArrayList<>();
    final List<Letter> letters = new ArrayList<>();
    /** What was reported to Kafka's fault handlers. */
    final List<Throwable> faults = new ArrayList<>();
    final ReplicaLogs logs = new ReplicaLogs(this);
    int active = NOBODY, epoch;
    private List<KafkaEventQueue> made = new ArrayList<>();

    ControlPlane(boolean elr) {
        this.elr = elr;
        KafkaEventQueue.clock = clock;
        KafkaEventQueue.onMade = queue -> made.add(queue);
        KafkaEventQueue.onThrown = Blame::refuseOwn;
        for (int number = 0; number < CONTROLLERS; number++)
            controllers.add(new WalkedController(this, number));
        for (int id = 0; id < BROKERS; id++)
            brokers.add(new WalkedBroker(this, id));
    }

    /** The queues that were made since this was asked last. */
    List<KafkaEventQueue> newQueues() {
        List<KafkaEventQueue> since = made;
        made = new ArrayList<>();
        return since;
    }

    WalkedController active() {
        return controllers.get(active);
    }

    long committedEnd() {
        return committed.isEmpty() ? 0 : committed.get(committed.size() - 1).end();
    }

    long end() {
        return uncommitted.isEmpty() ? committedEnd() : uncommitted.get(uncommitted.size() - 1).end();
    }

    /** The oldest uncommitted batch is on a majority. */
    boolean commit() {
        if (uncommitted.isEmpty())
            return false;
        committed.add(uncommitted.remove(0));
        return true;
    }

    /** A controller is elected that has some of the uncommitted batches. The rest is lost, and nobody else knows it yet. */
    void failOver(int next, int kept) {
        if (active != NOBODY)
            active().deposed();
        committed.addAll(uncommitted.subList(0, kept));
        uncommitted.clear();
        epoch++;
        active = next;
        committed.add(new Batch(committedEnd(), epoch, List.of()));
        active().learnEpoch();
    }

    /** All is committed, read, delivered and answered, as long as there is anything. */
    void calm() {
        for (int rounds = 0; rounds < 200; rounds++) {
            while (commit()) { }
            boolean moved = false;
            for (WalkedController each : controllers)
                moved |= each.read(Integer.MAX_VALUE);
            for (WalkedBroker each : brokers)
                moved |= each.runs() && each.read(Integer.MAX_VALUE);
            if (!letters.isEmpty())
                deliver(letters.get(0));
            else if (!moved && uncommitted.isEmpty())
                return;
        }
    }

    void passCalmly(long ms) {
        for (long passed = 0; passed < ms; passed += CALM_MS) {
            pass(CALM_MS);
            calm();
        }
    }

    /** Time passes. Deferred events run at their time, or a millisecond later: until 3.9 a session has ended only then. */
    void pass(long ms) {
        long until = clock.milliseconds() + ms;
        for (KafkaEventQueue next = firstDue(); next != null && millis(next.nextDue()) < until; next = firstDue()) {
            clock.advance(Math.max(0, millis(next.nextDue()) + 1 - clock.milliseconds()));
            next.runNext();
        }
        clock.advance(Math.max(0, until - clock.milliseconds()));
    }

    private static long millis(long nanos) {
        return (nanos + 999_999) / 1_000_000;
    }

    private KafkaEventQueue firstDue() {
        KafkaEventQueue first = null;
        long due = Long.MAX_VALUE;
        for (WalkedController each : controllers)
            if (each.queue.nextDue() < due) {
                first = each.queue;
                due = first.nextDue();
            }
        for (WalkedBroker broker : brokers)
            for (KafkaEventQueue each : broker.queues)
                if (each.nextDue() < due) {
                    first = each;
                    due = first.nextDue();
                }
        return first;
    }

    void deliver(Letter letter) {
        letters.remove(letter);
        if (letter.answer)
            letter.broker.receive(letter);
        else
            controllers.get(letter.broker.talksTo()).serve(letter);
    }

    /** A letter is lost. The broker that has asked learns in the end that nothing will come. */
    void lose(Letter letter) {
        letters.remove(letter);
        letter.broker.giveUp(letter);
    }

    // ---- what Kafka asks of its surroundings

    Object faultHandler() {
        return Reflect.proxy(Reflect.type("org.apache.kafka.server.fault.FaultHandler"), (name, arguments) -> {
            Throwable cause = arguments.length > 1 ? (Throwable) arguments[1] : null;
            RuntimeException fault = new Blame.Fault(String.valueOf(arguments[0]), cause);
            faults.add(fault);
            return fault;
        });
    }

    Object leaderAndEpoch(int leader, int epoch) {
        OptionalInt id = leader == NOBODY ? OptionalInt.empty() : OptionalInt.of(FIRST_CONTROLLER + leader);
        return Reflect.make(Reflect.longest(Reflect.type("org.apache.kafka.raft.LeaderAndEpoch")), id, epoch);
    }

    /** Batches, as KafkaRaftClient gives them to a listener. */
    Object reader(List<Batch> batches) {
        int[] next = {0};
        return Reflect.proxy(Reflect.type("org.apache.kafka.raft.BatchReader"), (name, arguments) -> {
            switch (name) {
                case "hasNext":
                    return next[0] < batches.size();
                case "next":
                    return shown(batches.get(next[0]++));
                case "baseOffset":
                    return batches.get(0).base;
                case "lastOffset":
                    return OptionalLong.of(batches.get(batches.size() - 1).end() - 1);
                default:
                    return null;
            }
        });
    }

    private Object shown(Batch batch) {
        return batch.records.isEmpty()
            ? Reflect.callStatic(BATCH, "control", batch.base, batch.epoch, clock.milliseconds(), 1, List.of(BEGINS_EPOCH))
            : Reflect.callStatic(BATCH, "data", batch.base, batch.epoch, clock.milliseconds(), 1, batch.records);
    }

    /** What a record is once it has been written and read: nodes share no objects, and its version matters. */
    static ApiMessageAndVersion reread(ApiMessageAndVersion record) {
        ObjectSerializationCache sizes = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, sizes));
        MetadataRecordSerde.INSTANCE.write(record, sizes, new ByteBufferAccessor(bytes));
        bytes.flip();
        return MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(bytes), bytes.remaining());
    }
}
