"""The public TLA+ family of Kafka replication models, action for action (github.com/hachikuji/kafka-specification)."""
