package org.apache.kafka.common.utils.internals;

/** Kafka 4.4 has this package and others do not. With this class all have it, so that one import of all its classes serves them. */
final class Package {
    private Package() { }
}
