"""Counterexamples as people see them: what a state looks like, what happened between states, and pages, text and
exports of it.
"""
