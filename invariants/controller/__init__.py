"""What should hold around the controller."""
