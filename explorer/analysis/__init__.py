"""What else can be learned of a system: causes, orders of steps, graphs, random walks."""
