"""What is installed: its name, its version, and the claims that come along."""

from __future__ import annotations

from pathlib import Path

NAME = "kafka-highwater"
VERSION = "0.1.0"
HERE = Path(__file__).parent
LIBRARIES = {
    *("anyio", "cattr", "cattrs", "click", "dateutil", "idna", "jinja2", "linkify_it", "markdown_it", "markupsafe"),
    *("mdit_py_plugins", "mdurl", "pandas", "platformdirs", "py4j", "pyarrow", "pygments", "pyspark", "pytz"),
    *("rich", "six", "sniffio", "textual", "tomlkit", "typing_extensions", "tzdata", "uc_micro", "watchfiles"),
    "werkzeug",
}
"""The modules that come along with what is installed, in any version of it, beside those of the checker."""


def installing(extra: str) -> str:
    """How to install what an extra brings."""
    return f"install it with: pip install '{NAME}[{extra}]' (in a checkout: pip install '.[{extra}]')"


def gallery() -> Path:
    """The folder of the gallery's claims: inside the installed package, or `specs` of a checkout."""
    inside = HERE / "gallery"
    return inside if inside.is_dir() else HERE.parents[1] / "specs"
