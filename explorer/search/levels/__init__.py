"""The search, level by level, and what it shows of itself."""
