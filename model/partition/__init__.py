"""One partition of Kafka at message granularity, with every historical rule of replication as a toggle."""
