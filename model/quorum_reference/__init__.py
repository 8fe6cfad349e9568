"""The public specification of the KRaft quorum: Raft in which followers fetch."""
