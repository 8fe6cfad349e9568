"""Counterexamples on a real cluster: Kafka's processes on this machine, driven along a trace."""
