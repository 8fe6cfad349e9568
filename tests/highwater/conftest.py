"""What the tests of the front door share: specs written on the spot, and the command line called in this process."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from highwater.claims.spec import Spec, load_spec
from highwater.cli.main import main
from highwater.cli.options import DEFECT

ROOT = Path(__file__).parents[2]
QUICK = {"brokers": 2, "log_length_max": 1, "records_max": 1, "leader_epoch_max": 1}


def toml_value(value: Any) -> str:
    """A value in TOML, inline."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case list() | tuple():
            return "[" + ", ".join(map(toml_value, value)) + "]"
        case dict():
            return "{ " + ", ".join(f"{toml_value(key)} = {toml_value(inner)}" for key, inner in value.items()) + " }"
    raise TypeError(f"{value!r} cannot be written as TOML")


def toml_text(data: dict[str, Any]) -> str:
    """A whole TOML file, one line per top-level key."""
    return "".join(f"{toml_value(key)} = {toml_value(value)}\n" for key, value in data.items())


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def as_toml() -> Callable[[dict[str, Any]], str]:
    """Plain data as the text of a TOML file."""
    return toml_text


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., Path]:
    """Write a spec: a good and quick one, with some keys changed, or left out where the value is None."""

    def write(name: str = "claim.toml", /, **keys: Any) -> Path:
        protocol = {"variant": "kip-320"}
        data = {"model": "reference", "protocol": protocol, "bounds": QUICK, "check": ["weak_isr"], **keys}
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(toml_text({key: value for key, value in data.items() if value is not None}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def make_spec(write_spec: Callable[..., Path]) -> Callable[..., Spec]:
    """Write a spec and load it."""
    return lambda name="claim.toml", /, **keys: load_spec(write_spec(name, **keys))


@pytest.fixture
def highwater(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call the command line in this process. An internal error fails the test, unless the test says that it expects
    one.
    """
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    # a slow machine prints progress every ten seconds, between the lines that a test looks at
    monkeypatch.setattr("highwater.reports.progress.SECONDS_BETWEEN_LINES", float("inf"))

    def run(*arguments: Any, may_fail: bool = False) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if result.exit_code == DEFECT and not may_fail:
            kept = Path(result.stderr.split("open an issue with ")[1].split(",")[0])
            raise AssertionError(kept.read_text(encoding="utf-8"))
        return result

    return run
