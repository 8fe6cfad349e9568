"""What one search leaves to the next, and to itself after an interrupt."""
