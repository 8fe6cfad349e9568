package org.apache.kafka.common.record.internal;

/** The same for this package, which Kafka has since 4.3. */
final class RecordPackage {
    private RecordPackage() { }
}
