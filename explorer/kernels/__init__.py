"""The machine code: walk trees, apply effects, find new states. Knows words and numbers only; the one importer of
numba.
"""
