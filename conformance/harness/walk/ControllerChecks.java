import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;

/** What must hold of controllers and brokers after each step. */
final class ControllerChecks {
    private final ControlPlane plane;
    private final Consumer<Violation> broken;
    /** What the active controller had before the step, and of which epoch that is. */
    private final Map<ReplicaLogs.Partition, PartitionRegistration> before = new HashMap<>();
    private int beforeEpoch = -1;
    /** Who is in the ELR and was no replica at some time since; and who ever was. */
    private final Map<ReplicaLogs.Partition, Set<Integer>> unassigned = new HashMap<>(), everUnassigned = new HashMap<>();
    /** The topic whose min.insync.replicas this step sets, or -1. */
    private int settingMinIsr = -1;
    /** Topics whose ELRs a new min ISR has cleared, and partitions of which nobody was in sync then. */
    private final Set<Integer> cleared = new HashSet<>();
    private final Set<ReplicaLogs.Partition> forgotten = new HashSet<>();
    /** What all who have read so many batches have. */
    private final Map<Integer, String> replayed = new HashMap<>();
    private final int[] readBefore = new int[ControlPlane.CONTROLLERS + ControlPlane.BROKERS];
    private final Map<ReplicaLogs.Partition, int[]>[] seenEpochs;
    /** The broker epochs with which members of ISRs were last seen to be active. */
    private final Map<ReplicaLogs.Partition, long[]> activeAs = new HashMap<>();
    long elections, uncleanElections;

    @SuppressWarnings("unchecked")
    ControllerChecks(ControlPlane plane, Consumer<Violation> broken) {
        this.plane = plane;
        this.broken = broken;
        seenEpochs = new Map[ControlPlane.BROKERS];
        Arrays.setAll(seenEpochs, each -> new HashMap<>());
    }

    /** The step that is about to be taken sets min.insync.replicas of a topic. */
    void settingMinIsr(int topic) {
        settingMinIsr = topic;
    }

    void afterStep() {
        Blame.check();
        faults();
        WalkedController active = plane.active();
        if (active.knowsEpoch() && active.isActive())
            partitions(active);
        replays();
        settingMinIsr = -1;
    }

    private void faults() {
        for (Throwable each : plane.faults)
            if (Blame.isOwn(each))
                throw new Blame.Own(each);
        if (!plane.faults.isEmpty()) {
            broken.accept(fault("controllers_meet_no_fault", Blame.told(plane.faults.get(0))));
            throw new Run.Ended();  // of a known defect: the controller renounces, and the next one will
        }
        for (WalkedController each : plane.controllers)
            if (each.resigned == plane.epoch)
                broken.accept(fault("controllers_do_not_renounce_without_a_reason", "controller " + each.id + " has renounced, and no fault was reported"));
    }

    private Violation fault(String invariant, String text) {
        return new Violation(invariant, text).with("elr was cleared by a new min ISR", !cleared.isEmpty());
    }

    // ---- partitions at the active controller

    private void partitions(WalkedController active) {
        boolean changed = beforeEpoch != plane.epoch;
        if (changed)
            before.clear();
        beforeEpoch = plane.epoch;
        for (List<ReplicaLogs.Partition> topic : plane.logs.byNumber.values())
            for (ReplicaLogs.Partition each : topic) {
                PartitionRegistration now = active.partition(each.id, each.index);
                PartitionRegistration was = now == null ? before.remove(each) : before.put(each, now);
                if (now != was) {
                    changed = true;
                    if (now != null)
                        changed(each, was, now);
                }
                if (now != null)
                    activeMembers(active, each, now);
            }
        if (changed)
            indices(active);
    }

    private void changed(ReplicaLogs.Partition partition, PartitionRegistration was, PartitionRegistration now) {
        String told = partition + ": " + shown(now) + (was == null ? "" : "; it was " + shown(was));
        require(within(now.isr, now.replicas) && distinct(now.isr) && distinct(now.replicas), "isr_members_are_assigned", told);
        eligible(partition, was, now, told);
        require(Arrays.stream(now.elr).noneMatch(each -> ReplicaLogs.contains(now.isr, each)), "isr_and_elr_are_disjoint", told);
        require(now.leader < 0 || ReplicaLogs.contains(now.isr, now.leader), "leaders_are_in_sync", told);
        require(plane.elr || now.isr.length > 0, "somebody_is_in_sync_without_elr", told);
        if (was != null)
            compared(partition, was, now, told);
        unassigned.get(partition).retainAll(boxed(now.elr));
    }

    private void compared(ReplicaLogs.Partition partition, PartitionRegistration was, PartitionRegistration now, String told) {
        require(now.partitionEpoch > was.partitionEpoch && now.leaderEpoch >= was.leaderEpoch, "epochs_do_not_go_back", told);
        if (waitsForNobody(now) && now.leader == was.leader)  // an election that adds to the ISR comes after the question, and the next change answers it
            broken.accept(new Violation("reassignments_complete_once_all_are_in_sync", told)
                .with("somebody is added and removed", Arrays.stream(now.addingReplicas).anyMatch(each -> ReplicaLogs.contains(now.removingReplicas, each))));
        if (settingMinIsr == partition.topic && was.elr.length + was.lastKnownElr.length > now.elr.length + now.lastKnownElr.length) {
            cleared.add(partition.topic);
            if (now.isr.length == 0)
                forgotten.add(partition);
        }
        if (now.leader != was.leader && now.leader >= 0)
            elected(partition, was, now, told);
    }

    /** Whether a reassignment is in progress, and all replicas that are to stay are in sync. */
    private static boolean waitsForNobody(PartitionRegistration now) {
        int[] stay = Arrays.stream(now.replicas).filter(each -> !ReplicaLogs.contains(now.removingReplicas, each)).toArray();
        return now.addingReplicas.length + now.removingReplicas.length > 0 && stay.length > 0 && within(stay, now.isr);
    }

    private void eligible(ReplicaLogs.Partition partition, PartitionRegistration was, PartitionRegistration now, String told) {
        Set<Integer> marked = unassigned.computeIfAbsent(partition, each -> new TreeSet<>());
        Set<Integer> ever = everUnassigned.computeIfAbsent(partition, each -> new TreeSet<>());
        if (was == null)  // after a fail-over an earlier state may be back
            marked.addAll(ever);
        for (int member : now.elr)
            if (!ReplicaLogs.contains(now.replicas, member)) {
                broken.accept(new Violation("eligible_replicas_are_assigned", told).with("was", was).with("now", now).with("broker", member)
                    .with("eligible unassigned before", marked.contains(member)));
                marked.add(member);
                ever.add(member);
            }
    }

    private void elected(ReplicaLogs.Partition partition, PartitionRegistration was, PartitionRegistration now, String told) {
        elections++;
        require(now.leaderEpoch > was.leaderEpoch, "a_new_leader_has_a_new_epoch", told);
        boolean clean = ReplicaLogs.contains(was.isr, now.leader) || ReplicaLogs.contains(was.elr, now.leader);
        if (!clean && now.leaderRecoveryState != LeaderRecoveryState.RECOVERING)  // who is proposed may join the ISR and lead by one record
            require(was.addingReplicas.length + was.removingReplicas.length > 0, "unclean_elections_say_so", told);
        if (!clean && now.leaderRecoveryState == LeaderRecoveryState.RECOVERING) {
            uncleanElections++;
            partition.giveUp(now.leaderEpoch);
        } else {
            holdsAcknowledged(partition, now, "elected_leaders_hold_acknowledged_records", told);
        }
    }

    private void holdsAcknowledged(ReplicaLogs.Partition partition, PartitionRegistration now, String invariant, String told) {
        int leader = now.leader;
        if (partition.has(leader, partition.acknowledged))
            return;
        broken.accept(new Violation(invariant, told + "; acknowledged are " + named(partition.acknowledged) + ", b" + leader + " has "
            + named(boxed(partition.logs[leader]))).with("broker", leader).with("eligible unassigned before", marked(partition).contains(leader)));
        partition.giveUp(now.leaderEpoch);
    }

    private Set<Integer> marked(ReplicaLogs.Partition partition) {
        return unassigned.getOrDefault(partition, Set.of());
    }

    /** Whether its ELR has somebody who was no replica at some time since. */
    boolean hasUnassigned(ReplicaLogs.Partition partition) {
        return !marked(partition).isEmpty();
    }

    private void activeMembers(WalkedController active, ReplicaLogs.Partition partition, PartitionRegistration now) {
        for (int member : now.isr) {
            String standing = active.standing(member);
            if (!standing.equals("active") && (plane.elr || now.isr.length > 1 || now.leader == member))
                broken.accept(new Violation("isr_members_are_active", partition + ": " + shown(now) + "; b" + member + " is " + standing)
                    .with("registered again", standing.equals("fenced") && active.brokerEpoch(member) != epochWhenActive(partition, member)));
            else if (standing.equals("active"))
                activeAs.computeIfAbsent(partition, each -> new long[ControlPlane.BROKERS])[member] = active.brokerEpoch(member);
        }
    }

    private long epochWhenActive(ReplicaLogs.Partition partition, int member) {
        return activeAs.containsKey(partition) ? activeAs.get(partition)[member] : -1;
    }

    private void require(boolean holds, String invariant, String told) {
        if (!holds)
            broken.accept(new Violation(invariant, told));
    }

    // ---- BrokersToIsrs and BrokersToElrs

    private void indices(WalkedController active) {
        Object isrs = Reflect.call(active.replication(), "brokersToIsrs"), elrs = Reflect.call(active.replication(), "brokersToElrs");
        for (int broker = 0; broker < ControlPlane.BROKERS; broker++) {
            int id = broker;
            index("isr_index_agrees", "BrokersToIsrs of b" + id, Reflect.call(isrs, "partitionsWithBrokerInIsr", id), now -> ReplicaLogs.contains(now.isr, id));
            index("elr_index_agrees", "BrokersToElrs of b" + id, Reflect.call(elrs, "partitionsWithBrokerInElr", id), now -> ReplicaLogs.contains(now.elr, id));
        }
        index("isr_index_agrees", "BrokersToIsrs of no leader", Reflect.call(isrs, "partitionsWithNoLeader"), now -> now.leader < 0);
    }

    private void index(String invariant, String name, Object found, java.util.function.Predicate<PartitionRegistration> belongs) {
        List<String> listed = new ArrayList<>();
        boolean ofCleared = true;
        for (Iterator<?> each = (Iterator<?>) found; each.hasNext(); ) {
            Object entry = each.next();
            List<ReplicaLogs.Partition> topic = plane.logs.topics.get(Reflect.call(entry, "topicId"));
            if (topic == null)
                continue;  // it was created, and that is not committed yet
            ReplicaLogs.Partition partition = topic.get((Integer) Reflect.call(entry, "partitionId"));
            PartitionRegistration now = before.get(partition);
            if (now == null || !belongs.test(now) || listed.contains(partition.toString()))
                ofCleared &= cleared.contains(partition.topic);
            listed.add(partition.toString());
        }
        List<String> wanted = new ArrayList<>();
        before.forEach((partition, now) -> {
            if (belongs.test(now))
                wanted.add(partition.toString());
        });
        listed.sort(null);
        wanted.sort(null);
        if (!listed.equals(wanted))
            broken.accept(new Violation(invariant, name + " lists " + listed + ", and partitions say " + wanted)
                .with("elr was cleared by a new min ISR", ofCleared).with("only more than there is", listed.containsAll(wanted)));
    }

    // ---- replay

    /** Whoever has read as far has the same. */
    private void replays() {
        for (WalkedController each : plane.controllers)
            if (moved(each.id - ControlPlane.FIRST_CONTROLLER, each.read) && !each.isActive())
                agrees(each.read, "controller " + each.id, all(each.topics(), each::standing));
        for (WalkedBroker each : plane.brokers)
            if (moved(ControlPlane.CONTROLLERS + each.id, each.read) && each.runs() && each.image != null) {
                agrees(each.read, "b" + each.id, all(each.topics(), each::standing));
                forward(each);
            }
    }

    private boolean moved(int node, int read) {
        boolean moved = readBefore[node] != read;
        readBefore[node] = read;
        return moved;
    }

    private void agrees(int read, String who, String now) {
        String first = replayed.putIfAbsent(read, now);
        if (first != null && !first.equals(now))
            broken.accept(new Violation("replays_agree", who + " has read " + read + " batches and has " + now + "; another who has read as many had " + first));
    }

    private void forward(WalkedBroker broker) {
        for (List<ReplicaLogs.Partition> topic : plane.logs.byNumber.values())
            for (ReplicaLogs.Partition each : topic) {
                PartitionRegistration now = broker.partition(each.id, each.index);
                if (now == null)
                    continue;
                int[] least = seenEpochs[broker.id].computeIfAbsent(each, key -> new int[3]);
                if (least[2] == broker.incarnation)
                    require(now.leaderEpoch >= least[0] && now.partitionEpoch >= least[1], "epochs_do_not_go_back", "b" + broker.id + " has read of " + each + ": " + shown(now));
                least[0] = now.leaderEpoch;
                least[1] = now.partitionEpoch;
                least[2] = broker.incarnation;
            }
    }

    /** At the end, when nothing has failed for long: who runs is active, who can lead leads, and nothing that was acknowledged is lost. */
    void atEnd() {
        WalkedController active = plane.active();
        for (WalkedBroker each : plane.brokers)
            require(active.standing(each.id).matches("active|absent"), "brokers_come_back", "b" + each.id + " (" + each.state() + ") stays " + active.standing(each.id));
        before.forEach((partition, now) -> {
            if (now.leader >= 0)
                holdsAcknowledged(partition, now, "leaders_hold_acknowledged_records", partition + ": " + shown(now));
            else if (mayLead(active, now))
                broken.accept(new Violation("partitions_find_a_leader", partition + ": " + shown(now)).with("now", now)
                    .with("eligible unassigned before", !marked(partition).isEmpty()).with("cleared while nobody was in sync", forgotten.contains(partition)));
        });
    }

    /** Whether somebody may lead, or nobody is known to. */
    private static boolean mayLead(WalkedController active, PartitionRegistration now) {
        int[] first = now.isr.length > 0 ? now.isr : now.elr;
        boolean candidate = Arrays.stream(first).anyMatch(each -> ReplicaLogs.contains(now.replicas, each) && active.standing(each).equals("active"));
        boolean nobodyIs = Arrays.stream(first).noneMatch(each -> ReplicaLogs.contains(now.replicas, each));
        boolean lastKnown = now.lastKnownElr.length == 0 || ReplicaLogs.contains(now.replicas, now.lastKnownElr[0]) && active.standing(now.lastKnownElr[0]).equals("active");
        return candidate || nobodyIs && lastKnown;
    }

    // ---- words

    /** All partitions and brokers in a line. */
    private static String all(Map<String, Map<Integer, PartitionRegistration>> topics, IntFunction<String> standing) {
        StringBuilder all = new StringBuilder();
        topics.forEach((name, partitions) -> partitions.forEach((index, now) -> all.append(name).append('-').append(index).append(": ").append(shown(now)).append("; ")));
        for (int broker = 0; broker < ControlPlane.BROKERS; broker++)
            all.append('b').append(broker).append(' ').append(standing.apply(broker)).append(' ');
        return all.toString();
    }

    static String shown(PartitionRegistration now) {
        String elr = now.elr.length + now.lastKnownElr.length == 0 ? "" : ", ELR " + brokers(now.elr) + (now.lastKnownElr.length == 0 ? "" : ", last known leader " + brokers(now.lastKnownElr));
        String reassigned = now.addingReplicas.length + now.removingReplicas.length == 0 ? "" : " (adding " + brokers(now.addingReplicas) + ", removing " + brokers(now.removingReplicas) + ")";
        return (now.leader < 0 ? "nobody leads" : "b" + now.leader + " leads") + " in epoch " + now.leaderEpoch + (now.leaderRecoveryState == LeaderRecoveryState.RECOVERING ? ", recovering" : "")
            + ", replicas " + brokers(now.replicas) + reassigned + ", ISR " + brokers(now.isr) + elr;
    }

    static String brokers(int[] ids) {
        StringBuilder said = new StringBuilder();
        for (int each : ids)
            said.append(said.length() == 0 ? "b" : " b").append(each);
        return said.length() == 0 ? "nobody" : said.toString();
    }

    private static String named(Set<Integer> records) {
        StringBuilder said = new StringBuilder();
        for (int each : new TreeSet<>(records))
            said.append(said.length() == 0 ? "r" : " r").append(each);
        return said.length() == 0 ? "nothing" : said.toString();
    }

    private static Set<Integer> boxed(int[] ids) {
        Set<Integer> boxed = new HashSet<>();
        for (int each : ids)
            boxed.add(each);
        return boxed;
    }

    private static boolean within(int[] some, int[] all) {
        return Arrays.stream(some).allMatch(each -> ReplicaLogs.contains(all, each));
    }

    private static boolean distinct(int[] ids) {
        return Arrays.stream(ids).distinct().count() == ids.length;
    }
}
