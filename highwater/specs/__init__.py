"""What a spec file says, and everything that may be wrong with it."""
