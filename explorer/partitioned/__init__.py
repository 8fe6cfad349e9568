"""The search on one partition of the states, as each Spark task does it."""
