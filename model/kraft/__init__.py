"""The KRaft controller's decisions about one partition, as pure functions with Kafka's inputs and outputs."""
