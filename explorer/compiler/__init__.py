"""What an exploration runs on: pure functions become decision trees over packed states."""
