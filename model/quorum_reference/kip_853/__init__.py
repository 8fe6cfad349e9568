"""The public specification of the KRaft quorum whose voters change: KIP-853."""
