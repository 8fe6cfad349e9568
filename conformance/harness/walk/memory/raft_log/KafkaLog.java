package org.apache.kafka.raft;

/** What a replica asks of its log, as it is called since 4.3. */
interface KafkaLog extends RaftLog { }
