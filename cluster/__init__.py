"""Counterexamples on a real cluster: Kafka's processes on this machine, driven along a trace."""

if __name__ != "highwater.cluster":
    raise ImportError(f"{__file__}: import it as highwater.cluster")
