import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.common.message.BrokerHeartbeatResponseData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.BrokerRegistrationResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.BrokerHeartbeatResponse;
import org.apache.kafka.common.requests.BrokerRegistrationResponse;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/** The control side of a broker: while its process runs, Kafka's BrokerLifecycleManager and MetadataLoader. */
final class WalkedBroker {
    private static final Class<?> LIFECYCLE = Reflect.type("org.apache.kafka.server.BrokerLifecycleManager", "kafka.server.BrokerLifecycleManager");
    private static final Class<?> PUBLISHER = Reflect.type("org.apache.kafka.image.publisher.MetadataPublisher");
    private static final String DIRECTORY = "/nowhere";

    final int id;
    private final ControlPlane plane;
    private Object lifecycle, loader;
    List<KafkaEventQueue> queues = List.of();
    /** The newest image that its loader has published, or null. */
    Object image;
    /** How many committed batches it has read; how often its process was started. */
    int read, incarnation;
    /** The controller that it takes for the active one, if it is wrong about that. */
    int believes = ControlPlane.NOBODY;
    /** The broker epoch that a shutdown in order has left on disk. */
    private OptionalLong cleanEpoch = OptionalLong.empty();
    private boolean ready;

    WalkedBroker(ControlPlane plane, int id) {
        this.plane = plane;
        this.id = id;
    }

    int talksTo() {
        return believes == ControlPlane.NOBODY ? plane.active : believes;
    }

    boolean runs() {
        return lifecycle != null;
    }

    String state() {
        return runs() ? Reflect.call(lifecycle, "state").toString() : "DOWN";
    }

    boolean isRunning() {
        return state().equals("RUNNING");
    }

    long epoch() {
        return (Long) Reflect.call(lifecycle, "brokerEpoch");
    }

    void start() {
        incarnation++;
        read = 0;
        ready = false;
        lifecycle = makeLifecycle();
        set("incarnationId", new Uuid(incarnation, 1 + id));
        loader = makeLoader();
        queues = plane.newQueues();
        Reflect.call(loader, "installPublishers", List.of(Reflect.proxy(PUBLISHER, (name, arguments) -> {
            if (name.equals("onMetadataUpdate")) {
                image = arguments[1];
                plane.logs.read(this);
            }
            return name.equals("name") ? "walk" : null;
        })));
        java.lang.reflect.Method start = Reflect.method(LIFECYCLE, "start", 6);
        Supplier<Object> offset = () -> Reflect.call(loader, "lastAppliedOffset");
        Object highest = start.getParameterTypes()[0] == Supplier.class ? offset : Reflect.proxy(start.getParameterTypes()[0], (name, arguments) -> offset.get());
        Object channel = Reflect.proxy(start.getParameterTypes()[1], this::send);
        BrokerRegistrationRequestData.ListenerCollection listeners = new BrokerRegistrationRequestData.ListenerCollection();
        ((java.util.Collection<Object>) (java.util.Collection<?>) listeners).add(new BrokerRegistrationRequestData.Listener().setName("PLAINTEXT").setHost("b" + id).setPort(9092));
        Reflect.invoke(lifecycle, start, highest, channel, WalkedController.CLUSTER, listeners, WalkedController.supported(), cleanEpoch);
        cleanEpoch = OptionalLong.empty();
    }

    /** Made once for each broker: KafkaConfig is slow to make, and nothing here changes it. */
    private static final Object[] CONFIGS = new Object[ControlPlane.BROKERS];

    private Object config() {
        if (CONFIGS[id] != null)
            return CONFIGS[id];
        Map<String, String> settings = new HashMap<>();
        settings.put("process.roles", "broker");
        settings.put("node.id", "" + id);
        settings.put("broker.id", "" + id);
        settings.put("controller.quorum.voters", ControlPlane.FIRST_CONTROLLER + "@controller:1");
        settings.put("controller.listener.names", "CONTROLLER");
        settings.put("listeners", "PLAINTEXT://b" + id + ":9092");
        settings.put("log.dirs", DIRECTORY);
        settings.put("initial.broker.registration.timeout.ms", "2000000000");
        CONFIGS[id] = Reflect.make(Reflect.constructor(Reflect.type("kafka.server.KafkaConfig"), Map.class, boolean.class), settings, false);
        return CONFIGS[id];
    }

    private Object makeLifecycle() {
        Uuid directory = new Uuid(1, 1 + id);
        return Reflect.construct(LIFECYCLE, type -> type == Map.class ? Map.of(DIRECTORY, directory)
            : type == String.class ? "b" + id
            : type == boolean.class ? (Object) false
            : type == Runnable.class ? (Runnable) () -> { }
            : type == Supplier.class ? (Supplier<Boolean>) () -> false
            : type.getName().equals("scala.Function0") ? Reflect.proxy(type, (name, arguments) -> null)
            : type.getName().startsWith("scala") ? Reflect.call(Reflect.constant(Reflect.type("scala.collection.immutable.Set$EmptySet$"), "MODULE$"), "incl", directory)
            : type.isInstance(plane.clock) ? plane.clock : config());
    }

    private void set(String field, Object value) {
        try {
            Reflect.field(LIFECYCLE, field).set(lifecycle, value);
        } catch (IllegalAccessException e) {
            throw new Reflect.Missing("field " + field + " of " + LIFECYCLE);
        }
    }

    private Object makeLoader() {
        Object builder = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.image.loader.MetadataLoader$Builder")));
        Object provenance = Reflect.constant(Reflect.type("org.apache.kafka.image.MetadataProvenance"), "EMPTY");
        Consumer<Object> ignore = each -> { };
        Object metrics = Reflect.construct(Reflect.type("org.apache.kafka.image.loader.metrics.MetadataLoaderMetrics"), type ->
            type == Optional.class ? Optional.empty() : type == AtomicReference.class ? new AtomicReference<>(provenance) : ignore);
        Map<String, Object> settings = Map.of("setNodeId", id, "setTime", plane.clock, "setFaultHandler", plane.faultHandler(), "setMetrics", metrics,
            "setHighWaterMarkAccessor", (Supplier<OptionalLong>) () -> OptionalLong.of(plane.committedEnd()));
        settings.forEach((name, value) -> {
            if (WalkedController.has(builder.getClass(), name))
                Reflect.call(builder, name, value);
        });
        return Reflect.call(builder, "build");
    }

    void shutDown() {
        Reflect.call(lifecycle, "beginControlledShutdown");
    }

    /** Its process ends at once. What is on disk stays. */
    void kill() {
        lifecycle = null;
        loader = null;
        image = null;
        queues = List.of();
        plane.letters.removeIf(each -> each.broker == this && each.answer);
        plane.logs.stopped(this);
    }

    // ---- requests

    /** NodeToControllerChannelManager. */
    private Object send(String name, Object[] arguments) {
        if (name.equals("controllerApiVersions"))
            return Optional.empty();
        if (name.equals("sendRequest"))
            plane.letters.add(Letter.request(this, (ApiMessage) Reflect.read(Reflect.call(arguments[0], "build"), "data"), arguments[1]));
        return null;
    }

    void receive(Letter letter) {
        if (!runs() || letter.incarnation != incarnation)
            return;
        if (letter.about == Letter.About.PROPOSAL) {
            plane.logs.answered(this, (AlterPartitionResponseData) letter.data);
            return;
        }
        AbstractResponse body = letter.about == Letter.About.REGISTRATION ? new BrokerRegistrationResponse((BrokerRegistrationResponseData) letter.data)
            : new BrokerHeartbeatResponse((BrokerHeartbeatResponseData) letter.data);
        long now = plane.clock.milliseconds();
        RequestHeader header = new RequestHeader(ApiKeys.BROKER_HEARTBEAT, (short) 0, "b" + id, 0);
        Reflect.call(letter.handler, "onComplete", new ClientResponse(header, null, "controller", now, now, false, null, null, body));
        if (!ready && ((CompletableFuture<?>) Reflect.call(lifecycle, "initialCatchUpFuture")).isDone()) {
            ready = true;
            Reflect.call(lifecycle, "setReadyToUnfence");
        }
        if (state().equals("SHUTTING_DOWN")) {
            cleanEpoch = OptionalLong.of(epoch());
            kill();
        }
    }

    void giveUp(Letter letter) {
        if (runs() && letter.incarnation == incarnation && letter.handler != null)
            Reflect.call(letter.handler, "onTimeout");
    }

    // ---- metadata

    boolean read(int batches) {
        int until = (int) Math.min((long) read + batches, plane.committed.size());
        if (until <= read)
            return false;
        List<ControlPlane.Batch> next = new ArrayList<>(plane.committed.subList(read, until));
        read = until;
        Reflect.call(loader, "handleCommit", plane.reader(next));
        return true;
    }

    /** Load a snapshot of another broker's image in place of the log up to there. */
    void load(WalkedBroker other) {
        Object writer = Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.image.writer.RecordListWriter")));
        Object options = Reflect.call(Reflect.make(Reflect.constructor(Reflect.type("org.apache.kafka.image.writer.ImageWriterOptions$Builder"), other.image.getClass()), other.image), "build");
        Reflect.call(other.image, "write", writer, options);
        List<?> records = (List<?>) Reflect.call(writer, "records");
        List<ApiMessageAndVersion> written = new ArrayList<>();
        records.forEach(each -> written.add(ControlPlane.reread((ApiMessageAndVersion) each)));
        ControlPlane.Batch last = plane.committed.get(other.read - 1);
        read = other.read;
        Reflect.call(loader, "handleLoadSnapshot", snapshot(written, last));
    }

    private Object snapshot(List<ApiMessageAndVersion> records, ControlPlane.Batch last) {
        boolean[] given = {false};
        return Reflect.proxy(Reflect.type("org.apache.kafka.snapshot.SnapshotReader"), (name, arguments) -> {
            switch (name) {
                case "hasNext":
                    return !given[0];
                case "next":
                    given[0] = true;
                    return Reflect.callStatic(Reflect.type("org.apache.kafka.raft.Batch"), "data", 0L, last.epoch, plane.clock.milliseconds(), 1, records);
                case "snapshotId":
                    return Reflect.make(Reflect.longest(offsetAndEpoch()), last.end(), last.epoch);
                case "lastContainedLogOffset":
                    return last.end() - 1;
                case "lastContainedLogEpoch":
                    return last.epoch;
                case "lastContainedLogTimestamp":
                    return plane.clock.milliseconds();
                default:
                    return null;
            }
        });
    }

    /** Until 4.0 there are two classes of this name, and snapshots have that of `raft`. */
    private static Class<?> offsetAndEpoch() {
        return Reflect.type("org.apache.kafka.raft.OffsetAndEpoch", "org.apache.kafka.server.common.OffsetAndEpoch");
    }

    /** A partition as its image has it, or null. */
    PartitionRegistration partition(Uuid topic, int index) {
        Object found = image == null ? null : ((Map<?, ?>) Reflect.call(Reflect.call(image, "topics"), "topicsById")).get(topic);
        return found == null ? null : (PartitionRegistration) ((Map<?, ?>) Reflect.call(found, "partitions")).get(index);
    }

    /** All topics of its image by name, with their partitions. */
    Map<String, Map<Integer, PartitionRegistration>> topics() {
        Map<String, Map<Integer, PartitionRegistration>> topics = new TreeMap<>();
        ((Map<?, ?>) Reflect.call(Reflect.call(image, "topics"), "topicsById")).values().forEach(each -> {
            Map<Integer, PartitionRegistration> partitions = new TreeMap<>();
            ((Map<?, ?>) Reflect.call(each, "partitions")).forEach((index, partition) -> partitions.put((Integer) index, (PartitionRegistration) partition));
            topics.put((String) Reflect.call(each, "name"), partitions);
        });
        return topics;
    }

    String standing(int broker) {
        return WalkedController.standing(Reflect.call(Reflect.call(image, "cluster"), "broker", broker));
    }

    /** Whether its image has a broker that may join an ISR, and that broker's epoch; -1 if not. */
    long epochIfActive(int broker) {
        return image != null && standing(broker).equals("active") ? (Long) Reflect.call(Reflect.call(Reflect.call(image, "cluster"), "broker", broker), "epoch") : -1;
    }

    /** min.insync.replicas of a topic as its image has it. */
    int minIsr(String topic) {
        Object configs = Reflect.call(image, "configs");
        Object value = ((java.util.Properties) Reflect.call(configs, "configProperties",
            new org.apache.kafka.common.config.ConfigResource(org.apache.kafka.common.config.ConfigResource.Type.TOPIC, topic))).get(WalkedController.MIN_ISR);
        return value == null ? 1 : Integer.parseInt(value.toString());
    }
}
