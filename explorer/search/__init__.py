"""Breadth-first search: rows, levels, threads, snapshots, counterexamples; and the same in plain Python."""
