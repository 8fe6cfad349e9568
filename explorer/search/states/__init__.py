"""Where states are kept: rows and the visited set, flat or folded."""
