"""What came out, for people and for programs: terminal, JSON, JUnit, SARIF, GitHub."""
