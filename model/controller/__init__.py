"""Kafka's controller: its two state machines, and a cluster around them."""
