"""Kafka as data and pure functions: what a cluster's state is, and every step that may change it."""

if __name__ != "highwater.model":
    raise ImportError(f"{__file__}: import it as highwater.model")
