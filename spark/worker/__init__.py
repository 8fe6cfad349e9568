"""What runs in the tasks of a level, on executors."""
