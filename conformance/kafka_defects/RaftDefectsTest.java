package org.apache.kafka.raft;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.util.MockTime;
import org.apache.kafka.snapshot.RawSnapshotWriter;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three schedules in which KafkaRaftClient, or its log, throws out of poll(): that ends the process. They were found by
 * driving real clients at random in one thread. Each test fails on 4.3.1, and passes once the defect is mended. It needs
 * Kafka's own test classes.
 */
public final class RaftDefectsTest {
    private static final int LOCAL = 0;

    private static ReplicaKey voter(int id) {
        return ReplicaKey.of(id, Uuid.randomUuid());
    }

    /**
     * A voter is removed while its answer to BeginQuorumEpoch is on its way. The active controller must go on.
     * LeaderState#addAcknowledgementFrom asks for a present voter.
     */
    @Test
    public void theAnswerOfARemovedVoterDoesNotEndTheLeader() throws Exception {
        ReplicaKey local = voter(LOCAL);
        ReplicaKey follower = voter(LOCAL + 1);
        ReplicaKey slow = voter(LOCAL + 2);
        RaftClientTestContext context = new RaftClientTestContext.Builder(local.id(), local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.of(VoterSetTest.voterSet(Stream.of(local, follower, slow))))
            .withUnknownLeader(3)
            .build();
        context.unattachedToCandidate();
        context.expectAndGrantVotes(context.currentEpoch());
        int epoch = context.currentEpoch();

        // both voters are asked to begin the epoch; the slow one does not answer yet
        context.pollUntilRequest();
        RaftRequest.Outbound late = null;
        for (RaftRequest.Outbound each
                : context.assertSentBeginQuorumEpochRequest(epoch, Set.of(follower.id(), slow.id()))) {
            if (each.destination().id() == slow.id()) {
                late = each;
                continue;
            }
            context.deliverResponse(each.correlationId(), each.destination(), context.beginEpochResponse(epoch, LOCAL));
        }
        context.client.poll();

        // the other follower fetches, so that the leader's epoch is committed, and the slow voter is removed
        fetch(context, epoch, follower);
        context.deliverRequest(context.removeVoterRequest(slow));
        context.client.poll();
        context.client.poll();
        assertFalse(context.client.quorum().isVoter(slow));
        fetch(context, epoch, follower);

        context.deliverResponse(late.correlationId(), late.destination(), context.beginEpochResponse(epoch, LOCAL));
        assertDoesNotThrow(context.client::poll, "The answer of a removed voter is no reason for the leader to end.");
        assertTrue(context.client.quorum().isLeader());
    }

    private static void fetch(RaftClientTestContext context, int epoch, ReplicaKey follower) throws Exception {
        context.deliverRequest(context.fetchRequest(epoch, follower, context.log.endOffset().offset(), epoch, 0));
        context.pollUntilResponse();
        context.drainSentResponses(ApiKeys.FETCH);
    }

    /**
     * An observer has stored who leads, and was killed before it read who the voters are. It starts again as Unattached
     * with a leader, and asks a bootstrap server, which leads in the same epoch. It must become its follower.
     * KafkaRaftClient#maybeHandleCommonResponse does so only if no leader is known.
     */
    @Test
    public void anObserverThatHasStoredTheLeaderFollowsIt() throws Exception {
        int epoch = 3;
        int leader = LOCAL + 1;
        ReplicaKey local = voter(LOCAL);
        InetSocketAddress bootstrap = InetSocketAddress.createUnresolved("localhost", 9990 + leader);
        RaftClientTestContext context = new RaftClientTestContext.Builder(local.id(), local.directoryId().get())
            .withKip853Rpc(true)
            .withBootstrapSnapshot(Optional.empty())
            .withElectedLeader(epoch, leader)
            .withBootstrapServers(Optional.of(List.of(bootstrap)))
            .build();
        assertTrue(context.client.quorum().isUnattached());

        context.pollUntilRequest();
        RaftRequest.Outbound fetch = context.assertSentFetchRequest();
        context.deliverResponse(fetch.correlationId(), fetch.destination(),
            context.fetchResponse(epoch, leader, MemoryRecords.EMPTY, 0L, Errors.NONE));
        assertDoesNotThrow(context.client::poll, "The leader of the stored epoch answers.");
    }

    /**
     * A replica has a snapshot, has deleted what is before it, and starts again; its log then begins where its first
     * segment does. It truncates to the snapshot's end. KafkaRaftLog#lastFetchedEpoch must still name the snapshot's
     * epoch.
     */
    @Test
    public void aLogThatIsTruncatedToItsSnapshotHasALastFetchedEpoch(@TempDir Path folder) throws Exception {
        int epoch = 1;
        MockTime time = new MockTime();
        OffsetAndEpoch snapshot = new OffsetAndEpoch(3, epoch);
        KafkaRaftLog log = open(folder, time);
        append(log, 3, epoch);
        try (RawSnapshotWriter writer = log.createNewSnapshotUnchecked(snapshot).get()) {
            writer.freeze();
        }
        append(log, 1, epoch + 1);  // not committed
        log.updateHighWatermark(new LogOffsetMetadata(3));
        log.deleteBeforeSnapshot(snapshot);  // no whole segment, so nothing on disk is deleted
        assertEquals(3, log.startOffset());
        log.close();

        KafkaRaftLog reopened = open(folder, time);
        reopened.truncateToEndOffset(snapshot);
        assertEquals(3, reopened.endOffset().offset());
        assertEquals(epoch, assertDoesNotThrow(reopened::lastFetchedEpoch, "The snapshot has the last epoch."));
    }

    private static KafkaRaftLog open(Path folder, MockTime time) throws Exception {
        File logs = new File(folder.toFile(), UnifiedLog.logDirName(Topic.CLUSTER_METADATA_TOPIC_PARTITION));
        Files.createDirectories(logs.toPath());
        MetadataLogConfig config = new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of(), false));
        return KafkaRaftLog.createLog(Topic.CLUSTER_METADATA_TOPIC_PARTITION, Uuid.METADATA_TOPIC_ID, logs, time,
            time.scheduler, config, 1);
    }

    private static void append(RaftLog log, int count, int epoch) {
        for (int number = 0; number < count; number++) {
            SimpleRecord record = new SimpleRecord(("r" + number).getBytes(StandardCharsets.UTF_8));
            log.appendAsLeader(MemoryRecords.withRecords(log.endOffset().offset(), Compression.NONE, epoch, record), epoch);
        }
    }
}
