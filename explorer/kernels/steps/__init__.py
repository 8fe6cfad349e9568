"""Trees walked and steps taken: a batch of states at a time."""
