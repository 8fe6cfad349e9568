"""The most that is taken from outside, so that no input keeps a command busy for long."""

MOST_WORKERS = 1024
LARGEST_SPEC = 1 << 20  # bytes
LARGEST_REPORT = 1 << 28
MOST_LINES = 1_000  # of a spec that are read again and again, to find the one of a key
MOST_PROBLEMS = 50  # that are shown of one file
