package org.apache.kafka.raft;

/** What a replica asks of its log, as it is called until 4.2. */
interface KafkaLog extends ReplicatedLog { }
