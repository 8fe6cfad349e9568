"""Exploration on a Spark cluster, and the explored states as a table."""

if __name__ != "highwater.spark":
    raise ImportError(f"{__file__}: import it as highwater.spark")
