"""Kafka's own classes in lock-step with the model: what to execute, how to drive the real objects, and where the two
differ.
"""

if __name__ != "highwater.conformance":
    raise ImportError(f"{__file__}: import it as highwater.conformance")
