"""The checker: compiles pure functions by running each of their paths once, and explores every state they reach. Knows
no Kafka.
"""
