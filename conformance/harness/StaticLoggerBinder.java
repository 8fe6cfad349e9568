package org.slf4j.impl;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggerFactoryBinder;

/**
 * Loggers of the classes that replicate, at level INFO, or TRACE if `lower` says so: each message is made, and goes nowhere. So an exception in a
 * message is one of the step. SLF4J 1.7 looks for this class by its name; it comes before that of a distribution.
 */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    /** By its presence SLF4J knows what this was made for; not a constant, which compilers would copy. */
    public static String REQUESTED_API_VERSION = "1.7";  // !final

    private static final StaticLoggerBinder ONE = new StaticLoggerBinder();
    private static final String[] REPLICATING = {"kafka.cluster.", "kafka.server.", "org.apache.kafka.controller.", "org.apache.kafka.server.", "state.change"};

    /** Whether messages of the lower levels are made. */
    public static volatile boolean lower;

    private static final List<String> LOWER = List.of("trace", "debug", "isTraceEnabled", "isDebugEnabled");

    private StaticLoggerBinder() { }

    public static StaticLoggerBinder getSingleton() {
        return ONE;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return name -> {
            boolean replicates = false;
            for (String each : REPLICATING)
                replicates |= name.startsWith(each);
            boolean enabled = replicates;
            return (Logger) Proxy.newProxyInstance(Logger.class.getClassLoader(), new Class<?>[] {Logger.class},
                (self, method, arguments) -> called(name, enabled, method, arguments));
        };
    }

    private static Object called(String name, boolean replicates, Method method, Object[] arguments) {
        boolean enabled = replicates && (lower || !LOWER.contains(method.getName()));
        if (method.getReturnType() == boolean.class)
            return enabled;
        if (enabled && arguments != null && arguments.length > 1 && arguments[0] instanceof String) {
            Object[] given = arguments[1] instanceof Object[] ? (Object[]) arguments[1] : new Object[] {arguments[1], arguments[arguments.length - 1]};
            MessageFormatter.arrayFormat((String) arguments[0], given).getMessage();
        }
        return method.getName().equals("getName") ? name : null;
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return StaticLoggerBinder.class.getName();
    }
}
