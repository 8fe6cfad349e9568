"""Exploration on a Spark cluster, and the explored states as a table."""
