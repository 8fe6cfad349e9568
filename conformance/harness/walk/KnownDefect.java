import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import org.apache.kafka.metadata.PartitionRegistration;

/**
 * Defects of Kafka that are known: of which releases, and what of them a walk recognises. A recogniser asks for the cause as well as
 * for the symptom, so that another cause of the same symptom is new. The names are those of docs/findings.md and of
 * `highwater reproduce`.
 */
enum KnownDefect {
    /** PartitionChangeBuilder#maybePopulateTargetElr takes who left the ISR, and does not ask who is a replica. */
    KEEPS_UNASSIGNED_REPLICAS_ELIGIBLE("4.1", "4.4", List.of("eligible_replicas_are_assigned"), each ->
        each.is("eligible unassigned before") || takenOut(each.partition("was"), each.partition("now"), each.number("broker"))),

    /** Its consequence: who was no replica, and has deleted its log, is one again, is still eligible, and is elected. */
    ELECTS_AN_EMPTIED_REPLICA("4.1", "4.4", List.of("elected_leaders_hold_acknowledged_records"), each -> each.is("eligible unassigned before")),

    /** Another one: it would be elected at once, and LeaderAcceptor#test looks for its directory among those of the present replicas. */
    FAILS_TO_ADD_A_REMOVED_REPLICA("4.1", "4.4", List.of("requests_do_not_fail_unexpectedly"), each -> each.is("eligible unassigned before")),

    /** ReplicationControlManager#removeTopicElrs does not update BrokersToElrs. */
    KEEPS_A_STALE_INDEX("4.1", "4.4", List.of("elr_index_agrees"), each -> each.is("elr was cleared by a new min ISR") && each.is("only more than there is")),

    /** Its consequence: the topic is deleted, and the registration of a broker that the index still has there throws. */
    DEPOSES_CONTROLLERS("4.1", "4.4", List.of("controllers_meet_no_fault"), each -> each.is("elr was cleared by a new min ISR")
        && each.getMessage().contains("existed in isrMembers, but not in the topics map")),

    /** PartitionChangeBuilder#canElectLastKnownLeader wants an empty ELR, and a broker without a replica is in it. */
    LEAVES_A_PARTITION_WITHOUT_A_LEADER("4.1", "4.4", List.of("partitions_find_a_leader"), each -> {
        PartitionRegistration now = each.partition("now");
        return now.isr.length == 0 && now.elr.length > 0 && Arrays.stream(now.elr).noneMatch(member -> ReplicaLogs.contains(now.replicas, member))
            && each.is("eligible unassigned before");
    }),

    /** ReplicationControlManager#removeTopicElrs also forgets the last known leader, though nobody is in sync. */
    FORGETS_WHO_MAY_LEAD("4.1", "4.4", List.of("partitions_find_a_leader"), each -> {
        PartitionRegistration now = each.partition("now");
        return now.isr.length == 0 && now.elr.length == 0 && now.lastKnownElr.length == 0 && each.is("cleared while nobody was in sync");
    }),

    /** PartitionReassignmentReplicas#maybeCompleteReassignment waits for all that are added, and after a reassignment back one of these is removed. */
    NEVER_COMPLETES_A_REASSIGNMENT("4.3", "4.4", List.of("reassignments_complete_once_all_are_in_sync"), each -> each.is("somebody is added and removed")),

    /** KAFKA-18106: until 4.0 ClusterControlManager#registerBroker fences a broker that was killed and returns, and leaves it in the ISR. */
    KEEPS_A_RESTARTED_BROKER_IN_SYNC("3.9", "3.9", List.of("isr_members_are_active"), each -> each.is("registered again")),

    /** LeaderState#addAcknowledgementFrom: the answer to BeginQuorumEpoch of a voter that was removed meanwhile. */
    ENDS_THE_ACTIVE_CONTROLLER("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.is("leads") && each.word("delivered").equals("begin quorum epoch answer")
        && !each.is("sender votes") && each.getMessage().contains("Unexpected acknowledgement from non-voter")),

    /** KafkaRaftClient#maybeHandleCommonResponse: who has stored a leader, and no voters, does not become its follower by its answer. */
    ENDS_A_NEW_BROKER("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.word("role").equals("Unattached") && each.word("delivered").matches("fetch( snapshot)? answer")
        && each.getMessage().contains("Expected to be Follower, but the current state is Unattached")),

    /** KafkaRaftLog#lastFetchedEpoch: a log that begins before its snapshot, and is truncated to the snapshot's end. */
    ENDS_A_REPLICA_THAT_TRUNCATES("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.is("ends at its snapshot")
        && each.invariant.contains("lastFetchedEpoch")),

    /**
     * RaftUtil#singletonEndQuorumEpochRequest names no endpoints, and KafkaRaftClient#handleEndQuorumEpochRequest looks for them among
     * the voters: a leader that was added a short time ago resigns, and a voter that has not read of it yet throws.
     */
    ENDS_A_VOTER_THAT_LAGS("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.word("delivered").equals("end quorum epoch")
        && !each.is("sender votes") && each.getMessage().contains("Unknown leader endpoints")),

    /** KafkaRaftClient#maybeHandleCommonResponse: an answer names a leader that its sender knows no endpoints of, since it is no voter any more. */
    ENDS_A_REPLICA_THAT_HEARS_OF_A_REMOVED_LEADER("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.is("no endpoints are told")
        && each.getMessage().contains("Unknown leader endpoints")),

    /** QuorumState#initialize asks for whom a replica has voted before it asks who leads: one that stood for election, and then followed who won, starts as a candidate of that epoch. */
    FORGETS_WHO_LEADS_ITS_EPOCH("4.1", "4.4", List.of("one_leader_in_each_epoch", Run.NOTHING_IS_THROWN), each -> each.is("stands again")
        && (each.invariant.equals("one_leader_in_each_epoch") || each.is("starts") && each.getMessage().contains("must be in the set of voters"))),

    /** KRaftControlRecordStateMachine#truncateNewEntries keeps the offset up to which it has read, and what takes the place of what was truncated is not read. */
    DOES_NOT_READ_WHO_VOTES("3.9", "4.4", List.of("equal_logs_have_equal_voters", Run.NOTHING_IS_THROWN), each -> each.is("somebody has read beyond its log")
        && (each.invariant.equals("equal_logs_have_equal_voters") || each.getMessage().contains("not expected when the kraft.version is 0"))),

    /** KafkaRaftLog#truncateToLatestSnapshot: a log whose last record is of a later epoch than the snapshot is not truncated, though the leader has sent the snapshot for that record. */
    DOES_NOT_TRUNCATE_FOR_A_SNAPSHOT("3.9", "4.4", List.of(Run.NOTHING_IS_THROWN), each -> each.is("its log has a later epoch than its snapshot")
        && each.word("delivered").equals("fetch snapshot answer") && each.getMessage().contains("Full log truncation expected but didn't happen")),

    /** KafkaRaftClient#pollUnattached: who is no voter by its own log does not stand for election, though its removal is not on a majority, and its vote is wanted by voters that have less. */
    LEAVES_A_QUORUM_WITHOUT_A_LEADER("3.9", "4.4", List.of("somebody_leads_in_the_end"), each -> each.is("nobody can win") && each.is("who has most votes for others"));

    private final int[] first, last;
    private final List<String> invariants;
    private final Predicate<Violation> recogniser;

    KnownDefect(String first, String last, List<String> invariants, Predicate<Violation> recogniser) {
        this.first = numbers(first);
        this.last = numbers(last);
        this.invariants = invariants;
        this.recogniser = recogniser;
    }

    String slug() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The defect that a violation on a release is of, if it is known. */
    static Optional<KnownDefect> of(Violation violation, String release) {
        return Arrays.stream(values()).filter(each -> each.in(release) && each.invariants.contains(violation.invariant.replaceFirst(" by .*", "")) && each.recogniser.test(violation)).findFirst();
    }

    private boolean in(String release) {
        int[] asked = numbers(release);
        return Arrays.compare(first, asked) <= 0 && Arrays.compare(asked, last) <= 0;
    }

    /** Whether a release is this one or a later one. */
    static boolean isFrom(String oldest, String release) {
        return Arrays.compare(numbers(oldest), numbers(release)) <= 0;
    }

    /** The first two numbers of a release. */
    private static int[] numbers(String release) {
        return Arrays.stream(release.split("[^0-9]+")).limit(2).mapToInt(Integer::parseInt).toArray();
    }

    /** Whether a change has taken a broker that was in sync, or eligible, out of the assignment. */
    private static boolean takenOut(PartitionRegistration was, PartitionRegistration now, int broker) {
        return was != null && ReplicaLogs.contains(was.replicas, broker) && !ReplicaLogs.contains(now.replicas, broker)
            && (ReplicaLogs.contains(was.isr, broker) || ReplicaLogs.contains(was.elr, broker));
    }
}
