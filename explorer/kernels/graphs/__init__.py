"""What is marked and judged on the graph of all states."""
