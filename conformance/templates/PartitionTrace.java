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

import kafka.log.LogManager;
import kafka.utils.TestUtils;

@@{import_directory}import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import @@{records}.FileRecords;
import @@{records}.MemoryRecords;
import @@{records}.RecordBatch;
import @@{records}.SimpleRecord;
import org.apache.kafka.common.requests.FetchRequest;
@@{import_request}import org.apache.kafka.common.utils.Utils;
@@{import_registration}import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.config.ReplicationConfigs;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogReadInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;

import scala.Option;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.mockito.Mockito.when;

/**
@@{story}
 */
public class @@{class_name} extends AbstractPartitionTest {
    private static final List<Integer> REPLICAS = List.of(@@{replicas});

    private final List<Broker> brokers = new ArrayList<>();

    // what the controller has recorded as the ISR
    private Set<Integer> isr = Set.copyOf(REPLICAS);

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
    @Override
    public void setup() {
        super.setup();
        for (int id : REPLICAS) {
            when(metadataCache().getAliveBrokerEpoch(id)).thenReturn(Optional.of(defaultBrokerEpoch(id)));
            brokers.add(new Broker(id));
        }
    }

    @AfterEach
    @Override
    public void tearDown() {
        brokers.forEach(broker -> broker.logManager.shutdown(-1L));
        super.tearDown();
    }

    @Override
    public Properties createLogProperties(Map<String, String> overrides) {
        Properties properties = super.createLogProperties(overrides);
        properties.put(TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG, "@@{min_isr}");
        return properties;
    }

    /** A broker with its own log directory and its own Partition. */
    private final class Broker {
        private final int id;
        private final LogManager logManager;
        private final TestUtils.MockAlterPartitionManager alterPartition = TestUtils.createAlterIsrManager();
        private final Partition partition;
        private int leaderEpoch;

        private Broker(int id) {
            this.id = id;
            File logDir = TestUtils.randomPartitionLogDir(tmpDir());
            logManager = TestUtils.createLogManager(
                CollectionConverters.asScala(List.of(logDir)).toSeq(), logConfig(), configRepository(),
                new CleanerConfig(false), time(), 4, true, Option.empty(), false, 0L);
            partition = new Partition(
                topicPartition(), ReplicationConfigs.REPLICA_LAG_TIME_MAX_MS_DEFAULT, id, () -> defaultBrokerEpoch(id),
                time(), alterPartitionListener(), delayedOperations(), metadataCache(), logManager, alterPartition,
                Option.empty());
        }

        /** Apply the metadata record of an election or of an ISR change, as ReplicaManager#applyDelta does. */
        private void learn(int leader, int leaderEpoch, List<Integer> isr, int partitionEpoch) throws IOException {
@@{state}
            if (leader == id)
                partition.makeLeader(state, @@{is_new}offsetCheckpoints(), topicId(), Option.empty());
            else
                partition.makeFollower(state, @@{is_new}offsetCheckpoints(), topicId(), Option.empty());
            this.leaderEpoch = leaderEpoch;
            expose();
        }

        /** Append a record as leader, for a producer with acks=all. */
        private void append(String value) throws IOException {
            MemoryRecords records = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(value.getBytes()));
            partition.appendRecordsToLeader(
                records, AppendOrigin.CLIENT, -1, RequestLocal.noCaching(), VerificationGuard.SENTINEL@@{transaction_version});
            expose();
        }

        /** Fetch once, and append or truncate by what the leader answers, as AbstractFetcherThread does. */
        private void fetchFrom(Broker leader) throws IOException {
            UnifiedLog log = partition.localLogOrException();
            LogReadInfo answer;
            try {
                answer = leader.read(this, log.logEndOffset(), log.latestEpoch(), true);
                if (answer.@@{fetched_data}.records.sizeInBytes() == 0 && answer.@@{diverging_epoch}.isEmpty())
                    // DelayedFetch reads again, so that the answer carries the newest high watermark
                    answer = leader.read(this, log.logEndOffset(), log.latestEpoch(), false);
            } catch (ApiException refused) {
                return;
            }
            leader.expose();
            if (answer.@@{diverging_epoch}.isPresent()) {
                EpochEndOffset diverging = answer.@@{diverging_epoch}.get();
                long end = log.endOffsetForEpoch(diverging.epoch())
                    .map(own -> own.epoch() == diverging.epoch() ? Math.min(own.offset(), diverging.endOffset()) : own.offset())
                    .orElse(diverging.endOffset());
                partition.truncateTo(Math.min(end, log.logEndOffset()), false);
                return;
            }
            if (answer.@@{fetched_data}.records instanceof FileRecords fetched && fetched.sizeInBytes() > 0) {
                ByteBuffer buffer = ByteBuffer.allocate(fetched.sizeInBytes());
                fetched.readInto(buffer, 0);
                partition.appendRecordsToFollowerOrFutureReplica(MemoryRecords.readableRecords(buffer), false, leaderEpoch);
            }
            log.updateHighWatermark(answer.@@{high_watermark});
        }

        private LogReadInfo read(Broker follower, long offset, Optional<Integer> lastFetchedEpoch, boolean updateFetchState) {
            FetchParams params = new FetchParams(
                follower.id, defaultBrokerEpoch(follower.id), 0L, 1, Integer.MAX_VALUE, FetchIsolation.LOG_END, Optional.empty());
            FetchRequest.PartitionData data = new FetchRequest.PartitionData(
                Uuid.ZERO_UUID, offset, 0L, Integer.MAX_VALUE, Optional.of(follower.leaderEpoch), lastFetchedEpoch);
            boolean free = alterPartition.inFlight().compareAndSet(false, true); // expanding the ISR is a step of its own
            try {
                return partition.fetchRecords(params, data, time().milliseconds(), Integer.MAX_VALUE, true, updateFetchState);
            } finally {
                if (free)
                    alterPartition.inFlight().set(false);
            }
        }

        /** Let replica.lag.time.max.ms pass, and propose an ISR without the followers that lag. */
        private void shrinkIsr() {
            time().sleep(partition.replicaLagTimeMaxMs() + 1);
            partition.maybeShrinkIsr();
        }

        /** The ISR of the AlterPartition request that waits for the controller; the present one if there is none. */
        private Set<Integer> proposedIsr() {
            if (alterPartition.isrUpdates().isEmpty())
                return isr;
            return alterPartition.isrUpdates().head().leaderAndIsr().isrWithBrokerEpoch().stream()
                .map(BrokerState::brokerId).collect(Collectors.toSet());
        }

        /** Receive the controller's answer that the proposed ISR is recorded. */
        private void isrGranted(int partitionEpoch) throws IOException {
            if (!alterPartition.isrUpdates().isEmpty())
                alterPartition.completeIsrUpdate(partitionEpoch);
            expose();
        }

        /** Receive the controller's answer that it refuses the proposed ISR. */
        private void isrRefused(Errors error) throws IOException {
            if (!alterPartition.isrUpdates().isEmpty())
                alterPartition.failIsrUpdate(error);
            expose();
        }

        /** The committed ISR as this broker knows it. */
        private Set<Integer> knownIsr() {
            return CollectionConverters.asJava(partition.inSyncReplicaIds()).stream()
                .map(member -> (Integer) member).collect(Collectors.toSet());
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
