"""The checker: compiles pure functions by running each of their paths once, and explores every state they reach. Knows
no Kafka.
"""

if __name__ != "highwater.explorer":
    raise ImportError(f"{__file__}: import it as highwater.explorer")
