"""Kept files: only the user's own are read, and only for the purpose they were written for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from highwater.explorer import kept_files
from tests.harm import foreign, linked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "kinds-1"
    folder.mkdir(0o755)
    kept_files.write(folder, "entry", b"body\nof it")
    return folder


def moved(folder: Path, name: str) -> tuple[Path, str]:
    """The file under another name, or in another folder."""
    other = folder.parent / "kinds-2" if name == "entry" else folder
    other.mkdir(0o755, exist_ok=True)
    (folder / "entry").rename(other / name)
    return other, name


def exchanged(folder: Path) -> tuple[Path, str]:
    """The whole folder under another name, as who owns the one above can do."""
    return folder.rename(folder.with_name("kinds-2")), "entry"


def test_a_kept_file_is_read_back(folder: Path) -> None:
    assert kept_files.read(folder, "entry") == b"body\nof it"
    assert kept_files.body_of((folder / "entry").read_bytes(), "entry") == b"body\nof it"


@pytest.mark.parametrize(
    "move", [lambda folder: moved(folder, "other"), lambda folder: moved(folder, "entry"), exchanged],
    ids=["another name", "another folder", "a folder of another name"],
)  # fmt: skip
def test_a_file_is_read_only_as_what_it_was_kept_as(folder: Path, move: Callable[[Path], tuple[Path, str]]) -> None:
    where, name = move(folder)
    with pytest.raises(ValueError, match="was kept as kinds-1/entry"):
        kept_files.read(where, name)


@pytest.mark.parametrize("position", range(0, 90, 7))
def test_a_changed_byte_anywhere_is_noticed(folder: Path, position: int) -> None:
    data = bytearray((folder / "entry").read_bytes())
    data[position % len(data)] ^= 1
    (folder / "entry").write_bytes(data)
    with pytest.raises(ValueError, match="entry"):
        kept_files.read(folder, "entry")


@pytest.mark.parametrize(
    "harm",
    [foreign, linked, lambda path: path.chmod(0o664), lambda path: path.chmod(0o646)],
    ids=["another owner", "a link", "the group may write", "all may write"],
)
@pytest.mark.parametrize("where", ["file", "folder"])
def test_a_file_that_others_could_have_made_is_refused(folder: Path, harm: Callable[[Path], None], where: str) -> None:
    harm(folder if where == "folder" else folder / "entry")
    with pytest.raises(OSError):
        kept_files.read(folder, "entry")
    if where == "file":
        with pytest.raises(PermissionError):
            kept_files.refuse_foreign(folder / "entry")


@pytest.mark.parametrize(
    ("named", "expected"),
    [("/somewhere", "/somewhere/highwater"), ("x", "/home/own/.cache/highwater"), ("", "/home/own/.cache/highwater")],
)
def test_a_relative_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, named: str, expected: str) -> None:
    monkeypatch.setenv("HOME", "/home/own")
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert list(kept_files.own_folder()) == [Path(expected)]
