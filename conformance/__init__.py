"""Kafka's own classes in lock-step with the model: what to execute, how to drive the real objects, and where the two
differ.
"""
