import java.util.Map;
import java.util.Set;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A replica that moves from one log directory to the other and back, as AlterReplicaLogDirs lets it. It is copied bit by bit beside the steps of a
 * run: nothing that is seen of the broker may change by that. The copy is the replica after a step of its own. The thread is Kafka's
 * ReplicaAlterLogDirsThread, whose doWork is called by hand.
 */
final class Moving {
    private static final Class<?> BROKER_END_POINT = Reflect.type("kafka.cluster.BrokerEndPoint", "org.apache.kafka.server.network.BrokerEndPoint");
    private static final Class<?> BROKER_AND_FETCHER = Reflect.type("kafka.server.BrokerIdAndFetcherId");

    private static final boolean ASKS_FIRST = Reflect.exists("org.apache.kafka.server.common.DirectoryEventHandler");
    private static final int MOST_ROUNDS = 100;

    private final Broker broker;
    private Object manager;
    private Runnable accepted;

    /** Whether the replica is copied beside the steps. */
    boolean ahead;

    Moving(Broker broker) {
        this.broker = broker;
    }

    /** Who hears of replicas that are about to take another directory: the controller accepts that in the step of the move. */
    Object assignments(Class<?> type) {
        return Reflect.proxy(type, (name, arguments) -> {
            if (name.equals("handleAssignment"))
                accepted = (Runnable) arguments[arguments.length - 1];
            return null;
        });
    }

    /** The process is gone, and its threads with it. */
    void stopped() {
        manager = null;
        accepted = null;
    }

    /** Begin anew: a copy that is not finished is given up. */
    void reset(Object logManager) {
        if (futureLog(logManager) != null) {
            Reflect.call(manager(), "removeFetcherForPartitions", Scala.set(Set.of(Broker.TOPIC_PARTITION)));
            broker.deleteLog(true);
        }
        ahead = false;
    }

    private Object manager() {
        if (manager == null)
            manager = Reflect.call(broker.replicaManager(), "replicaAlterLogDirsManager");
        return manager;
    }

    private static Object futureLog(Object logManager) {
        return Scala.unwrap(Reflect.call(logManager, "getLog", Broker.TOPIC_PARTITION, true));
    }

    /** Let Kafka find a thread where it would start one of its own. */
    Object prepare() {
        Object threads = Reflect.read(manager(), "fetcherThreadMap");
        int fetcherId = (Integer) Reflect.call(manager, "getFetcherId", Broker.TOPIC_PARTITION);
        Object key = Reflect.make(Reflect.constructor(BROKER_AND_FETCHER, int.class, int.class), broker.id, fetcherId);
        Object thread = Scala.unwrap(Reflect.call(threads, "get", key));
        if (thread == null) {
            thread = Reflect.call(manager, "createFetcherThread", fetcherId, endPoint());
            Reflect.call(threads, "put", key, thread);
        }
        return thread;
    }

    private Object endPoint() {
        return Reflect.make(Reflect.constructor(BROKER_END_POINT, int.class, String.class, int.class), broker.id, "localhost", -1);
    }

    /** Begin to copy the replica, or go on with that. Until a release asks the controller first, the end of the copy is the move. */
    void copy() {
        if (ahead && ASKS_FIRST && broker.up && broker.log() != null)
            advance(prepare());
    }

    /** Where the copy begins, or null. */
    Object copied() {
        Object copy = broker.partition == null ? null : Scala.unwrap(Reflect.call(broker.partition, "futureLog"));
        return copy == null ? null : Reflect.call(copy, "logStartOffset");
    }

    private boolean copies() {
        return Scala.unwrap(Reflect.call(broker.partition, "futureLog")) != null;
    }

    private void advance(Object thread) {
        if (copies()) {
            Reflect.call(thread, "doWork");
        } else {
            String to = broker.otherFolder().getPath();
            Object answer = Reflect.call(broker.replicaManager(), "alterReplicaLogDirs", CollectionConverters.asScala(Map.of(Broker.TOPIC_PARTITION, to)));
            Object error = CollectionConverters.asJava((scala.collection.Map<?, ?>) answer).values().iterator().next();
            if (!error.toString().equals("NONE"))
                throw new IllegalStateException("the replica does not move: " + error);
        }
        if ((Boolean) Reflect.call(Reflect.call(manager, "failedPartitions"), "contains", Broker.TOPIC_PARTITION))
            throw new IllegalStateException("the replica moves no more");
    }

    /** Copy what is left, and let the copy be the replica. */
    void move() {
        Object thread = prepare();
        if (!copies())
            advance(thread);
        for (int round = 0; copies(); round++) {
            if (accepted != null)
                accepted.run();
            accepted = null;
            advance(thread);
            if (round > MOST_ROUNDS)
                throw new IllegalStateException("the copy does not end");
        }
        Reflect.call(prepare(), "doWork");  // the thread has nothing left to do
        broker.deleteFiles();
    }
}
