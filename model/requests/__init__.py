"""Produce and fetch requests to one broker, over several partitions, and how they wait."""
