"""What is installed: its name, its version, and the claims that come along."""

from __future__ import annotations

from pathlib import Path

NAME = "kafka-highwater"
VERSION = "0.1.0"
HERE = Path(__file__).parent
LIBRARIES = {
    *("annotated_types", "anyio", "cattr", "cattrs", "cffi", "click", "cryptography", "dateutil", "h11", "httpcore2"),
    *("httpx2", "idna", "jinja2", "jsonschema", "jsonschema_specifications", "jwt", "linkify_it", "markdown_it"),
    *("markupsafe", "mcp", "mcp_types", "mdit_py_plugins", "mdurl", "multipart", "opentelemetry", "pandas"),
    *("platformdirs", "py4j", "pyarrow", "pycparser", "pydantic", "pydantic_core", "pygments", "pyspark"),
    *("python_multipart", "pytz", "referencing", "rich", "rpds", "six", "sniffio", "sse_starlette", "starlette"),
    *("textual", "tomlkit", "truststore", "typing_extensions", "typing_inspection", "tzdata", "uc_micro", "uvicorn"),
    *("watchfiles", "werkzeug"),
}
"""The modules that come along with what is installed, in any version of it, beside those of the checker."""


def installing(extra: str) -> str:
    """How to install what an extra brings."""
    return f"install it with: pip install '{NAME}[{extra}]' (in a checkout: pip install '.[{extra}]')"


def gallery() -> Path:
    """The folder of the gallery's claims: inside the installed package, or `specs` of a checkout."""
    inside = HERE / "gallery"
    return inside if inside.is_dir() else HERE.parents[1] / "specs"
