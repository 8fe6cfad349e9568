"""What every Java process begins with, so that it answers alike whatever language and encoding the user has.

Kafka names files with the digits of Java's language, and finds constants by its upper case.
"""

from __future__ import annotations

import os

LANGUAGE = {"language": "en", "country": "US", "script": "", "variant": "", "extensions": ""}
ENCODED = ("file", "sun.jnu", "stdout", "stderr", "sun.stdout", "sun.stderr")
ALIKE = (
    "-Duser.region=US",  # where it is set, country and variant do not count
    *(f"-Duser.{key}{use}={value}" for use in ("", ".format", ".display") for key, value in LANGUAGE.items()),
    *(f"-D{each}.encoding=UTF-8" for each in ENCODED),
)
"""Options of `java`. On the command line they win over those of JDK_JAVA_OPTIONS and JAVA_TOOL_OPTIONS."""
TOOLS_ALIKE = tuple(f"-J{each}" for each in ALIKE)
"""The same for `javac` and `javap`."""


def environment() -> dict[str, str]:
    """The environment of a Java process: the user's, where the names of files are in UTF-8. No option can say that."""
    last = os.environ.get("_JAVA_OPTIONS")  # Java reads it after the command line
    alike = {} if last is None else {"_JAVA_OPTIONS": " ".join([last, *ALIKE])}
    return {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": "C", **alike}
