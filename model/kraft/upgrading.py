"""The metadata version is upgraded while brokers run: to 3.7, which records their log directories (KIP-858)."""

from __future__ import annotations

from highwater.model.kraft.bounds import KraftBounds
from highwater.model.kraft.image import Standing
from highwater.model.kraft.metadata_log import appended
from highwater.model.kraft.protocol import KraftProtocol
from highwater.model.kraft.state import Cluster
from highwater.model.language.declarations import action
from highwater.model.log import brokers


@action(actor="controller", needs=lambda bounds: bounds.upgrades)
def upgrade_metadata_version(cluster: Cluster, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """Somebody upgrades the metadata version to one that has log directories.

    Actor: the controller.
    Enabled: the budget allows it.
    Effect: the registrations say nothing of directories yet. Each broker registers again once it has read of the
        upgrade. Before KAFKA-16162 none did, and a replica of which the broker had said where it is counted as one
        whose directory has failed.
    Abstracts: brokers say at once where their replicas are.
    Source: kafka.server.metadata.BrokerMetadataPublisher#onMetadataUpdate (3.7.0),
        org.apache.kafka.image.publisher.BrokerRegistrationTracker#onMetadataUpdate (3.7.1 to 4.3.1),
        org.apache.kafka.common.DirectoryId#isOnline (3.7.0 to 4.3.1).
    """
    after, again = cluster.spending("upgrades"), protocol.directories_registered_after_upgrade
    for broker in cluster.ids:
        failed = (not again,) * len(cluster.partitions)
        after = after.with_registration(broker, outdated=again, directories_failed=failed)
    return appended(cluster, after, protocol, bounds)


@action(actor="broker", needs=lambda bounds: bounds.upgrades, broker=brokers)
def register_directories(cluster: Cluster, broker: int, protocol: KraftProtocol, bounds: KraftBounds) -> Cluster | None:
    """A broker reads that the metadata version was upgraded, and registers again with its log directories.

    Actor: the broker.
    Enabled: it runs, and its registration lacks them.
    Effect: the registration has them. Until KAFKA-16757 it also said that the broker is fenced, whatever it was before,
        and no partition was changed with it.
    Abstracts: the time between reading and registering; and that the broker epoch changes, too, until KAFKA-16952.
    Source: org.apache.kafka.controller.ClusterControlManager#registerBroker (3.7.0 to 4.3.1).
    """
    ours, registration = cluster.brokers[broker], cluster.registrations[broker]
    if not ours.running or not registration.outdated or not cluster.committed.registrations[broker].outdated:
        return None
    if registration.broker_epoch != ours.broker_epoch or registration.standing is Standing.UNREGISTERED:
        return None
    standing = registration.standing if protocol.registered_again_as_it_was else Standing.FENCED
    after = cluster.with_registration(broker, outdated=False).with_standing(broker, standing)
    return appended(cluster, after, protocol, bounds)
