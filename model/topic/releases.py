"""The presets: the rules as each release with ZooKeeper has them, oldest first.

A preset stands for its release and for those after it, up to the next preset: releases in between change none of these
rules.

Source: the named releases of github.com/apache/kafka.
"""

from __future__ import annotations

from highwater.model.language.definition import Release
from highwater.model.language.history import History
from highwater.model.topic.protocol import TopicProtocol

HISTORY = History("""
watched_before_read False 1.1.0=True | KafkaController#onNewTopicCreation, #registerPartitionModificationsHandlers
zk_write_fenced False 2.1.0=True | KafkaZkClient#retryRequestsUntilConnected
new_replica_asks_zookeeper True 1.1.0=False | ReplicaStateMachine#handleStateChange, #doHandleStateChanges
additions_wait False 1.0.0=True | AdminManager#createPartitions; AdminUtils#addPartitions does not wait
reassigned_by_zookeeper True 2.4.0=False | KafkaController#processApiPartitionReassignment
removed_replicas_told True 2.4.0=False | KafkaController#moveReassignedPartitionLeaderIfRequired
balancing_waits True 3.4.0=False | KafkaController#checkAndTriggerAutoLeaderRebalance
known_log_needs_no_zookeeper False 2.6.0=True | Partition#createLog; LogManager#getOrCreateLog
fence_fetch False 2.1.0=True | Partition#localReplicaWithEpochOrException
dead_replicas_leave_at_startup False 2.3.0=True | ReplicaStateMachine#startup
partition_fails_alone False 2.7.0=True | Partition#makeLeader, #makeFollower
follower_notes_epoch_first False 3.6.0=True | Partition#makeFollower; until 2.7 it does not matter
append_error_stops_one False 2.3.0=True | AbstractFetcherThread#processFetchRequest
""")
FIRST_RELEASES = {
    "kafka-0.9": "0.9.0.0",
    "kafka-1.0": "1.0.0",
    "kafka-1.1": "1.1.0",
    "kafka-2.1": "2.1.0",
    "kafka-2.3": "2.3.0",
    "kafka-2.4": "2.4.0",
    "kafka-2.6": "2.6.0",
    "kafka-2.7": "2.7.0",
    "kafka-3.4": "3.4.0",
    "kafka-3.6": "3.6.0",
}
RELEASES = {name: Release(first, "zookeeper") for name, first in FIRST_RELEASES.items()}
PRESETS = {name: HISTORY.protocol(TopicProtocol, release) for name, release in RELEASES.items()}
LAST_RELEASES = {"zookeeper": "3.9"}
