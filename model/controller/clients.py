"""What clients see of a broker: kafka.server.KafkaApis, kafka.server.metadata.ZkMetadataCache (3.5)."""

from __future__ import annotations

from enum import Enum

from model.controller.brokers import Broker, Role


class ClientError(Enum):
    """Errors that tell a client to ask again, by Kafka's names."""

    NONE = "NONE"
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION"
    LEADER_NOT_AVAILABLE = "LEADER_NOT_AVAILABLE"
    REPLICA_NOT_AVAILABLE = "REPLICA_NOT_AVAILABLE"
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
    NOT_COORDINATOR = "NOT_COORDINATOR"
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"


def metadata_error(broker: Broker, live: frozenset[int], assignment: frozenset[int]) -> ClientError:
    """The partition's error in a metadata response of a broker.

    Args:
        live: the live brokers, as far as the broker knows.
        assignment: the partition's replicas, as far as it knows.

    Source: kafka.server.metadata.ZkMetadataCache#getPartitionMetadata (3.5), for version 0 of the request, to which
        alone replicas that are not live are an error: kafka.server.KafkaApis#handleTopicMetadataRequest (3.5).
    """
    if broker.metadata is None:
        return ClientError.UNKNOWN_TOPIC_OR_PARTITION
    if broker.metadata.leader is None or broker.metadata.leader not in live:
        return ClientError.LEADER_NOT_AVAILABLE
    return ClientError.NONE if assignment <= live else ClientError.REPLICA_NOT_AVAILABLE


def produce_error(broker: Broker) -> ClientError:
    """What a broker answers to a producer: kafka.server.ReplicaManager#getPartitionOrException (3.5)."""
    if broker.leads:
        return ClientError.NONE
    return (
        ClientError.UNKNOWN_TOPIC_OR_PARTITION
        if broker.role is Role.NONE and broker.metadata is None
        else ClientError.NOT_LEADER_OR_FOLLOWER
    )


def find_coordinator_error(broker: Broker, live: frozenset[int]) -> ClientError:
    """What a broker answers to a client that looks for the coordinator, which is the partition's leader as far as the
    broker knows.

    Args:
        live: the live brokers, as far as the broker knows.

    Source: kafka.server.KafkaApis#getCoordinator (3.5).
    """
    leader = None if broker.metadata is None else broker.metadata.leader
    return ClientError.NONE if leader in live else ClientError.COORDINATOR_NOT_AVAILABLE


def coordinator_error(broker: Broker) -> ClientError:
    """What a broker answers to a client that takes it for the coordinator: to such an error the client looks for
    another one.

    Abstracts: COORDINATOR_LOAD_IN_PROGRESS; state is loaded as soon as leadership is taken up.
    Source: kafka.coordinator.group.GroupCoordinator#validateGroupStatus (3.5).
    """
    return ClientError.NONE if broker.running and broker.coordinates else ClientError.NOT_COORDINATOR
