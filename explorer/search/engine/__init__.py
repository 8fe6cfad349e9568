"""What all passes over states share: actions and properties compiled, and symmetry."""
