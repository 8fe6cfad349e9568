"""Rows, the visited set, folded rows, and representatives."""
