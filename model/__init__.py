"""Kafka as data and pure functions: what a cluster's state is, and every step that may change it."""
