"""What a sceptic reads: certificates of verdicts, and a verifier that shares nothing with what wrote them."""
