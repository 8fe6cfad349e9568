"""What must hold: pure predicates over the models' states."""
