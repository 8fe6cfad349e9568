"""What a sceptic reads: certificates of verdicts, and a verifier that imports nothing of the search."""
