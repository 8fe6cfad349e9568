"""The public specifications of replication under the KRaft controller: Kafka 3.5, and the design of KIP-966."""
