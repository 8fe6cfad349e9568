"""A topic of several partitions, its controller with ZooKeeper, and its brokers."""
