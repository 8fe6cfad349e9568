"""The same searches in plain Python."""
