"""The same exploration on a Spark cluster, and the states that it found as a table."""
