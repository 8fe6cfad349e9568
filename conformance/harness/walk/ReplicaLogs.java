import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.AlterPartitionResponseData;
import org.apache.kafka.metadata.PartitionRegistration;

/**
 * The logs of replicas, kept by the walk by the rules of Kafka's brokers: which records a replica has, and which were
 * acknowledged. They are not Kafka's classes: they say what the controller's decisions mean for records. Where Kafka's broker
 * learns of an ISR from an answer, a leader here waits for its metadata, so it acknowledges less.
 */
final class ReplicaLogs {
    private static final int MOST_RECORDS = 8;
    private static final int[] EMPTY = {};

    /** A partition of a topic that was created. */
    static final class Partition implements Comparable<Partition> {
        final int topic, index;
        final Uuid id;
        /** The records that were acknowledged, and have to stay. */
        final Set<Integer> acknowledged = new HashSet<>();
        private int leastEpoch;
        final int[][] logs = new int[ControlPlane.BROKERS][];
        final Leader[] leaders = new Leader[ControlPlane.BROKERS];
        private int produced;

        Partition(int topic, int index, Uuid id) {
            this.topic = topic;
            this.index = index;
            this.id = id;
            Arrays.fill(logs, EMPTY);
        }

        /** What leaders of earlier epochs have is given up, by an unclean election or a known defect; what they acknowledge yet is, too. */
        void giveUp(int epoch) {
            acknowledged.clear();
            leastEpoch = epoch;
        }

        @Override
        public String toString() {
            return "t" + topic + "-" + index;
        }

        @Override
        public int compareTo(Partition other) {
            return topic != other.topic ? Integer.compare(topic, other.topic) : Integer.compare(index, other.index);
        }

        boolean has(int broker, Set<Integer> records) {
            int found = 0;
            for (int each : logs[broker])
                if (records.contains(each))
                    found++;
            return found == records.size();
        }
    }

    /** What a broker knows while it leads in an epoch. */
    private static final class Leader {
        final int epoch;
        final int start;
        /** How far each follower has fetched in this epoch; -1 if it has not. */
        final int[] ends = new int[ControlPlane.BROKERS];
        int highWatermark;
        /** Who was proposed for the ISR, and for which partition epoch. */
        final Set<Integer> proposed = new HashSet<>();
        int proposedFor = -1;

        Leader(int epoch, int start) {
            this.epoch = epoch;
            this.start = start;
            Arrays.fill(ends, -1);
        }
    }

    private final ControlPlane plane;
    final Map<Uuid, List<Partition>> topics = new HashMap<>();
    final TreeMap<Integer, List<Partition>> byNumber = new TreeMap<>();

    ReplicaLogs(ControlPlane plane) {
        this.plane = plane;
    }

    void created(int number, Uuid id, int partitions) {
        List<Partition> made = new ArrayList<>();
        for (int index = 0; index < partitions; index++)
            made.add(new Partition(number, index, id));
        topics.put(id, made);
        byNumber.put(number, made);
    }

    Partition partition(int topic, int index) {
        List<Partition> found = byNumber.get(topic);
        return found == null || index >= found.size() ? null : found.get(index);
    }

    /** A broker has read metadata: it deletes what it is no replica of, and leads or follows. */
    void read(WalkedBroker broker) {
        for (List<Partition> topic : byNumber.values())
            for (Partition each : topic) {
                PartitionRegistration now = broker.partition(each.id, each.index);
                if (now == null || !contains(now.replicas, broker.id)) {
                    each.logs[broker.id] = EMPTY;
                    each.leaders[broker.id] = null;
                } else if (now.leader != broker.id) {
                    each.leaders[broker.id] = null;
                } else if (each.leaders[broker.id] == null || each.leaders[broker.id].epoch != now.leaderEpoch) {
                    each.leaders[broker.id] = new Leader(now.leaderEpoch, each.logs[broker.id].length);
                } else {
                    forgetProposal(each.leaders[broker.id], now);
                    acknowledge(broker, each, now);
                }
            }
    }

    private static void forgetProposal(Leader leader, PartitionRegistration now) {
        if (now.partitionEpoch > leader.proposedFor)
            leader.proposed.clear();
    }

    void stopped(WalkedBroker broker) {
        for (List<Partition> topic : byNumber.values())
            for (Partition each : topic)
                each.leaders[broker.id] = null;
    }

    /** A leader appends a record. */
    boolean produce(Partition partition, WalkedBroker broker) {
        PartitionRegistration seen = leads(partition, broker);
        if (seen == null || partition.produced >= MOST_RECORDS || seen.isr.length < minIsr(partition, broker, seen))
            return false;
        int[] log = partition.logs[broker.id];
        partition.logs[broker.id] = Arrays.copyOf(log, log.length + 1);
        partition.logs[broker.id][log.length] = partition.produced++;
        acknowledge(broker, partition, seen);
        return true;
    }

    /** A follower fetches all that the leader has, in the epoch that both have read of. */
    boolean fetch(Partition partition, WalkedBroker follower) {
        PartitionRegistration seen = follower.partition(partition.id, partition.index);
        if (seen == null || seen.leader < 0 || seen.leader == follower.id || !contains(seen.replicas, follower.id))
            return false;
        WalkedBroker leader = plane.brokers.get(seen.leader);
        PartitionRegistration atLeader = leads(partition, leader);
        if (atLeader == null || atLeader.leaderEpoch != seen.leaderEpoch || !contains(atLeader.replicas, follower.id))
            return false;
        int[] ends = partition.leaders[leader.id].ends;
        int end = partition.logs[leader.id].length;
        if (ends[follower.id] == end)
            return false;
        partition.logs[follower.id] = partition.logs[leader.id];
        ends[follower.id] = end;
        acknowledge(leader, partition, atLeader);
        return true;
    }

    /** The partition as a running broker that leads it has read of it, or null. */
    PartitionRegistration leads(Partition partition, WalkedBroker broker) {
        return broker.runs() && partition.leaders[broker.id] != null ? broker.partition(partition.id, partition.index) : null;
    }

    private static int minIsr(Partition partition, WalkedBroker broker, PartitionRegistration seen) {
        return Math.min(broker.minIsr("t" + partition.topic), seen.replicas.length);
    }

    /** What all of the ISR and all who are proposed for it have is acknowledged, if the ISR is large enough. */
    private void acknowledge(WalkedBroker broker, Partition partition, PartitionRegistration seen) {
        Leader leader = partition.leaders[broker.id];
        if (seen.isr.length < minIsr(partition, broker, seen))
            return;
        int all = partition.logs[broker.id].length;
        for (int member : seen.isr)
            if (member != broker.id)
                all = Math.min(all, leader.ends[member]);
        for (int member : leader.proposed)
            if (member != broker.id)
                all = Math.min(all, leader.ends[member]);
        leader.highWatermark = Math.max(leader.highWatermark, all);
        if (seen.leaderEpoch >= partition.leastEpoch)
            for (int at = 0; at < all; at++)
                partition.acknowledged.add(partition.logs[broker.id][at]);
    }

    /** A leader proposes to take a replica into the ISR that has caught up, or to take one out. */
    boolean propose(Partition partition, WalkedBroker broker, int replica) {
        PartitionRegistration seen = broker.isRunning() ? leads(partition, broker) : null;
        if (seen == null || replica == broker.id || !contains(seen.replicas, replica))
            return false;
        Leader leader = partition.leaders[broker.id];
        List<AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
        for (int member : seen.isr)
            if (member != replica)
                isr.add(state(broker, member));
        if (!contains(seen.isr, replica)) {
            if (leader.ends[replica] < Math.max(leader.highWatermark, leader.start) || broker.epochIfActive(replica) < 0)
                return false;
            isr.add(state(broker, replica));
            leader.proposed.add(replica);
        }
        leader.proposedFor = seen.partitionEpoch;
        AlterPartitionRequestData.PartitionData asked = new AlterPartitionRequestData.PartitionData().setPartitionIndex(partition.index)
            .setLeaderEpoch(seen.leaderEpoch).setPartitionEpoch(seen.partitionEpoch).setNewIsrWithEpochs(isr).setLeaderRecoveryState((byte) 0);
        plane.letters.add(Letter.request(broker, new AlterPartitionRequestData().setBrokerId(broker.id).setBrokerEpoch(broker.epoch())
            .setTopics(List.of(new AlterPartitionRequestData.TopicData().setTopicId(partition.id).setPartitions(List.of(asked)))), null));
        return true;
    }

    private static AlterPartitionRequestData.BrokerState state(WalkedBroker broker, int member) {
        return new AlterPartitionRequestData.BrokerState().setBrokerId(member).setBrokerEpoch(member == broker.id ? broker.epoch() : broker.epochIfActive(member));
    }

    /** An answer changes nothing here: the leader waits for its metadata. */
    void answered(WalkedBroker broker, AlterPartitionResponseData answer) { }

    static boolean contains(int[] ids, int id) {
        for (int each : ids)
            if (each == id)
                return true;
        return false;
    }
}
