"""A model explored by hand: what can happen next, what was tried, and ways to states that somebody asks for."""
