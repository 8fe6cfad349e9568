package org.slf4j.impl;

import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.time.LocalTime;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.FormattingTuple;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;

/** Loggers that print a line to standard output: time, level, message, and the last part of the logger's name. */
final class Lines implements ILoggerFactory {
    private static final PrintStream OUT =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    /** The controller says at this level what it has changed of a partition. */
    private static final String DEBUGGED = "org.apache.kafka.controller.ReplicationControlManager";
    private static final int DEBUG = 1, INFO = 2, WARN = 3, ERROR = 4;
    private static final String[] NAMES = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR"};
    private final Map<String, Logger> loggers = new ConcurrentHashMap<>();

    @Override
    public Logger getLogger(String name) {
        return loggers.computeIfAbsent(name, Line::new);
    }

    private static final class Line extends MarkerIgnoringBase {
        private final int lowest;
        private final String shown;

        Line(String name) {
            this.name = name;
            String last = name.substring(name.lastIndexOf('.') + 1);
            shown = last.isEmpty() || Character.isLowerCase(last.charAt(0)) ? name : last; // a class, or a topic
            lowest = name.equals(DEBUGGED) ? DEBUG : INFO;
        }

        private void print(int level, String message, Throwable thrown) {
            if (level < lowest) return;
            StringBuilder line = new StringBuilder(200);
            line.append(LocalTime.now().truncatedTo(ChronoUnit.MILLIS)).append(' ').append(NAMES[level]);
            line.append(' ').append(message).append(" (").append(shown).append(')');
            if (thrown != null) {
                StringWriter trace = new StringWriter();
                thrown.printStackTrace(new PrintWriter(trace));
                line.append('\n').append(trace.toString().stripTrailing());
            }
            OUT.println(line);
        }

        private void format(int level, String format, Object... arguments) {
            if (level < lowest) return;
            FormattingTuple tuple = MessageFormatter.arrayFormat(format, arguments);
            print(level, tuple.getMessage(), tuple.getThrowable());
        }

        @Override public boolean isTraceEnabled() { return false; }
        @Override public void trace(String message) { }
        @Override public void trace(String format, Object argument) { }
        @Override public void trace(String format, Object first, Object second) { }
        @Override public void trace(String format, Object... arguments) { }
        @Override public void trace(String message, Throwable thrown) { }

        @Override public boolean isDebugEnabled() { return lowest <= DEBUG; }
        @Override public void debug(String message) { print(DEBUG, message, null); }
        @Override public void debug(String format, Object argument) { format(DEBUG, format, argument); }
        @Override public void debug(String format, Object one, Object two) { format(DEBUG, format, one, two); }
        @Override public void debug(String format, Object... arguments) { format(DEBUG, format, arguments); }
        @Override public void debug(String message, Throwable thrown) { print(DEBUG, message, thrown); }

        @Override public boolean isInfoEnabled() { return true; }
        @Override public void info(String message) { print(INFO, message, null); }
        @Override public void info(String format, Object argument) { format(INFO, format, argument); }
        @Override public void info(String format, Object one, Object two) { format(INFO, format, one, two); }
        @Override public void info(String format, Object... arguments) { format(INFO, format, arguments); }
        @Override public void info(String message, Throwable thrown) { print(INFO, message, thrown); }

        @Override public boolean isWarnEnabled() { return true; }
        @Override public void warn(String message) { print(WARN, message, null); }
        @Override public void warn(String format, Object argument) { format(WARN, format, argument); }
        @Override public void warn(String format, Object one, Object two) { format(WARN, format, one, two); }
        @Override public void warn(String format, Object... arguments) { format(WARN, format, arguments); }
        @Override public void warn(String message, Throwable thrown) { print(WARN, message, thrown); }

        @Override public boolean isErrorEnabled() { return true; }
        @Override public void error(String message) { print(ERROR, message, null); }
        @Override public void error(String format, Object argument) { format(ERROR, format, argument); }
        @Override public void error(String format, Object one, Object two) { format(ERROR, format, one, two); }
        @Override public void error(String format, Object... arguments) { format(ERROR, format, arguments); }
        @Override public void error(String message, Throwable thrown) { print(ERROR, message, thrown); }
    }
}
