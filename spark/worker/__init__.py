"""The executors' side of a search: the tasks of a level."""
