"""Why a kernel returned: after all but DONE, its caller does something and calls again, or stops."""

DONE = 0
# of a search: a tree has to grow, or room has to be made; or all threads stop
MISSED, MISSED_STEPS, TABLE_FULL, ROWS_FULL, PAUSED = range(1, 6)
# or a step writes a number that is new by its path, and not in this state
NOT_NEW = 12
# of a random walk: a tree has to grow; or a property is violated
MISSED_ACTION, MISSED_INVARIANT, MISSED_STEP, BROKEN_INVARIANT, BROKEN_STEP, DEADLOCK = range(6, 12)
# or the parts of folded rows need more room
PARTS_FULL = 13
