"""What must hold of the partition model. The S-numbers are those of the project's list of properties."""
