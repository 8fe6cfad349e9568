"""The same exploration on a Spark cluster. Nothing stands on this floor yet."""
