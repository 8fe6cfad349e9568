"""What should hold of a topic of several partitions."""
