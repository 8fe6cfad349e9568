"""The driver's side of a search."""
