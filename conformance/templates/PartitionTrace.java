/*
 * Licensed to the Apache Software Foundation (ASF) under one or more
 * contributor license agreements. See the NOTICE file distributed with
 * this work for additional information regarding copyright ownership.
 * The ASF licenses this file to You under the Apache License, Version 2.0
 * (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at
 *
 *    http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */
package kafka.cluster;

@@{imports}

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
@@{import_options}
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.Mockito.RETURNS_MOCKS;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

/**
@@{story}
 */
public class @@{class_name} {
    private static final TopicPartition PARTITION = new TopicPartition("topic", 0);
    private static final Uuid TOPIC_ID = new Uuid(1L, 1L);
    private static final long BROKER_EPOCH = 1L;
    private static final long REPLICA_LAG_TIME_MAX_MS = 30_000L;
    private static final List<Integer> REPLICAS = Arrays.asList(@@{replicas});

    @TempDir
    File folder;

    private final List<Broker> brokers = new ArrayList<>();
    private final Time time = mock(Time.class);
    private final @@{MetadataCache} metadataCache = mock(@@{MetadataCache}.class);
    private long now = 1L;

    // what the controller has recorded as the ISR
    private Set<Integer> isr = setOf(@@{replicas});

    // each record that was below the high watermark of a leader, at its offset: a consumer may have read it
    private final List<String> exposed = new ArrayList<>();

    @Test
    public void @@{test_name}() throws IOException {
@@{steps}

        // @@{property}
        @@{assertion};
    }

    /** Every record that a consumer may have read is in the log of each of these brokers. */
    private void assertExposedRecordsAreOn(Set<Integer> members) throws IOException {
        for (int offset = 0; offset < exposed.size(); offset++)
            for (int member : members)
                assertEquals(exposed.get(offset), brokers.get(member).recordAt(offset),
                    "The record at offset " + offset + " was below a leader's high watermark. Broker " + member + " must have it:");
    }

    @BeforeEach
    public void setup() throws IOException {
        when(time.milliseconds()).thenAnswer(call -> now);
        when(metadataCache.getAliveBrokerEpoch(anyInt())).thenReturn(@@{some_epoch});
        for (int id : REPLICAS)
            brokers.add(new Broker(id));
    }

    @AfterEach
    public void tearDown() throws IOException {
        for (Broker broker : brokers)
            broker.logManager.shutdown(@@{shutdown});
    }

    private static Set<Integer> setOf(Integer... members) {
        return new TreeSet<>(Arrays.asList(members));
    }

    private static Set<Integer> setOf(Collection<?> members) {
        return members.stream().map(member -> (Integer) member).collect(Collectors.toCollection(TreeSet::new));
    }

    /** A broker with its own log directory and its own Partition. */
    private final class Broker {
        private final int id;
        private final LogManager logManager;
        private final Partition partition;
        private int leaderEpoch;
        private boolean fetching;

        // the AlterPartition request that waits for the controller, and what waits for its answer
        private LeaderAndIsr proposed;
        private CompletableFuture<LeaderAndIsr> answer;

        private Broker(int id) throws IOException {
            this.id = id;
            File directory = new File(folder, "broker-" + id);
            Properties topicConfig = new Properties();
            topicConfig.put(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "@@{min_isr}");
            logManager = new LogManager(
                @@{log_manager});
            AlterPartitionManager alterPartition = mock(AlterPartitionManager.class);
            when(alterPartition.submit(@@{submit})).thenAnswer(call -> proposed(call.getArgument(1)));
            partition = new Partition(
                @@{partition});
        }

        /** Keep a proposed ISR until the controller answers; a manager that is busy attempts none. */
        private CompletableFuture<LeaderAndIsr> proposed(LeaderAndIsr proposal) {
            CompletableFuture<LeaderAndIsr> future = new CompletableFuture<>();
            if (fetching || proposed != null) { // expanding the ISR in a fetch is a step of its own
                future.completeExceptionally(new OperationNotAttemptedException("busy"));
            } else {
                proposed = proposal;
                answer = future;
            }
            return future;
        }

        /** Apply the metadata record of an election or of an ISR change, as ReplicaManager#applyDelta does. */
        private void learn(int leader, int leaderEpoch, List<Integer> isr, int partitionEpoch) throws IOException {
@@{state}
            OffsetCheckpoints checkpoints = (directory, of) -> @@{no_checkpoint};
            if (leader == id)
                partition.makeLeader(@@{learn});
            else
                partition.makeFollower(@@{learn});
            this.leaderEpoch = leaderEpoch;
            expose();
        }

        /** Append a record as leader, for a producer with acks=all. */
        private void append(String value) throws IOException {
            MemoryRecords records = MemoryRecords.withRecords(@@{compression}, new SimpleRecord(value.getBytes()));
            partition.appendRecordsToLeader(
                @@{append});
            expose();
        }

        /** Fetch once, and append or truncate by what the leader answers, as AbstractFetcherThread does. */
        private void fetchFrom(Broker leader) throws IOException {
            UnifiedLog log = partition.localLogOrException();
            LogReadInfo read;
            try {
                read = leader.read(this, log.logEndOffset(), @@{latest_epoch}, true);
                if (read.@@{fetched}.records.sizeInBytes() == 0 && !read.@@{diverging}.isPresent())
                    // DelayedFetch reads again, so that the answer carries the newest high watermark
                    read = leader.read(this, log.logEndOffset(), @@{latest_epoch}, false);
            } catch (ApiException refused) {
                return;
            }
            leader.expose();
            if (read.@@{diverging}.isPresent()) {
                FetchResponseData.EpochEndOffset diverging = read.@@{diverging}.get();
                long end = @@{end_of_epoch}
                    .map(own -> own.@@{epoch}() == diverging.epoch() ? Math.min(own.offset(), diverging.endOffset()) : own.offset())
                    .orElse(diverging.endOffset());
                partition.truncateTo(Math.min(end, log.logEndOffset()), false);
                return;
            }
            if (read.@@{fetched}.records.sizeInBytes() > 0) {
                FileRecords fetched = (FileRecords) read.@@{fetched}.records;
                ByteBuffer buffer = ByteBuffer.allocate(fetched.sizeInBytes());
                fetched.readInto(buffer, 0);
                MemoryRecords records = MemoryRecords.readableRecords(buffer);
                partition.appendRecordsToFollowerOrFutureReplica(@@{append_as_follower});
            }
            log.updateHighWatermark(read.@@{high_watermark});
        }

        private LogReadInfo read(Broker follower, long offset, Optional<Integer> lastFetchedEpoch, boolean updateFetchState) {
            FetchParams params = new FetchParams(
                @@{fetch_params});
            FetchRequest.PartitionData data = new FetchRequest.PartitionData(
                Uuid.ZERO_UUID, offset, 0L, Integer.MAX_VALUE, Optional.of(follower.leaderEpoch), lastFetchedEpoch);
            fetching = true;
            try {
                return partition.fetchRecords(@@{fetch});
            } finally {
                fetching = false;
            }
        }

        /** Let replica.lag.time.max.ms pass, and propose an ISR without the followers that lag. */
        private void shrinkIsr() {
            now += REPLICA_LAG_TIME_MAX_MS + 1;
            partition.maybeShrinkIsr();
        }

        /** The ISR of the AlterPartition request that waits for the controller; the present one if there is none. */
        private Set<Integer> proposedIsr() {
            return proposed == null ? isr : setOf(@@{proposed_isr});
        }

        /** Receive the controller's answer that the proposed ISR is recorded. */
        private void isrGranted(int partitionEpoch) throws IOException {
            LeaderAndIsr granted = proposed;
            proposed = null;
            if (granted != null)
                answer.complete(granted.withPartitionEpoch(partitionEpoch));
            expose();
        }

        /** Receive the controller's answer that it refuses the proposed ISR. */
        private void isrRefused(Errors error) throws IOException {
            boolean waited = proposed != null;
            proposed = null;
            if (waited)
                answer.completeExceptionally(error.exception());
            expose();
        }

        /** The committed ISR as this broker knows it. */
        private Set<Integer> knownIsr() {
            return setOf(@@{known_isr});
        }

        /** Note the records that are below the high watermark, if this broker leads. */
        private void expose() throws IOException {
            if (partition.isLeader())
                for (long offset = exposed.size(); offset < partition.localLogOrException().highWatermark(); offset++)
                    exposed.add(recordAt(offset));
        }

        /** The record at an offset with its leader epoch, or how far the log goes. */
        private String recordAt(long offset) throws IOException {
            UnifiedLog log = partition.localLogOrException();
            if (offset >= log.logEndOffset())
                return "log end offset " + log.logEndOffset();
            RecordBatch batch = log.read(offset, Integer.MAX_VALUE, FetchIsolation.LOG_END, true).records.batches().iterator().next();
            return Utils.utf8(batch.iterator().next().value()) + "@e" + batch.partitionLeaderEpoch();
        }
    }
}
