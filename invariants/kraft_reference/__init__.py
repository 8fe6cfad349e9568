"""What must hold of the public specifications of replication under KRaft."""
