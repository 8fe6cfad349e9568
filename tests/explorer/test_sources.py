"""What code depends on: the versions of installed distributions."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from highwater.explorer import sources


@pytest.fixture(autouse=True)
def answers_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    forget()
    yield
    forget()


def forget() -> None:
    """Begin as another process does."""
    sources._known.clear()
    for each in (sources._answers, sources._is_installed, sources._version_of):
        each.cache_clear()


def install(version: str, site: Path) -> None:
    for file, text in {
        "planted/__init__.py": f"VERSION = {version!r}\n",
        f"planted-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: planted\nVersion: {version}\n",
        f"planted-{version}.dist-info/RECORD": "planted/__init__.py,,\n",
    }.items():
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_text(text, encoding="utf-8")
    importlib.invalidate_caches()


def test_a_version_is_looked_up_once_and_again_when_another_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    install("1.0", site)
    (tmp_path / "uses.py").write_text("import planted\n", encoding="utf-8")
    for folder in (site, tmp_path):
        monkeypatch.syspath_prepend(str(folder))
    asked: list[str] = []
    look_up = sources._found_version_of
    monkeypatch.setattr(
        sources, "_found_version_of", lambda top, beside: [asked.append(top), look_up(top, beside)].pop()
    )

    def version() -> str:
        forget()
        return sources.sources_of({"uses"}).distributions["planted"]

    assert [version(), version()] == ["1.0", "1.0"]
    assert asked == ["planted"]
    (site / "planted-1.0.dist-info").rename(tmp_path / "gone")
    install("1.0.1", site)
    assert [version(), version()] == ["1.0.1", "1.0.1"]
    assert asked == ["planted", "planted"]


@pytest.mark.parametrize(
    ("file", "listed"),
    [
        ("planted/__init__.py", {"RECORD": "planted/__init__.py,,\n"}),
        ("planted.py", {"RECORD": "x.py,,\nplanted.py,,\n"}),
        ("planted/__init__.py", {"RECORD": "", "top_level.txt": "other\nplanted\n"}),
    ],
)
def test_a_distribution_may_have_another_name_than_its_module(
    file: str, listed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site-packages"
    install("3.0", site)
    for name, text in {"METADATA": "Metadata-Version: 2.1\nName: bed\nVersion: 2.0\n", **listed}.items():
        (site / "bed-2.0.dist-info").mkdir(exist_ok=True)
        (site / "bed-2.0.dist-info" / name).write_text(text, encoding="utf-8")
    (site / "planted-3.0.dist-info" / "RECORD").write_text("planted-3.0.dist-info/RECORD,,\nplanted_too/a.py,,\n")
    (site / file).write_text("", encoding="utf-8")
    if file == "planted.py":
        shutil.rmtree(site / "planted")
    monkeypatch.syspath_prepend(str(site))
    forget()
    assert sources._version_of("planted") == {"bed": "2.0"}


def test_a_module_of_another_folder_that_has_the_name_of_an_earlier_one_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the files of the earlier one are as they were."""
    found = []
    for text in ("A = 1\n", "A = 2\n"):
        folder = tmp_path / text[4]
        folder.mkdir()
        (folder / "moved.py").write_text(text, encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            patch.delitem(sys.modules, "moved", raising=False)
            importlib.import_module("moved")
            found += [sources.sources_of({"moved"}).modules["moved"] for _ in range(2)]
    assert found[0] == found[1] != found[2] == found[3]
