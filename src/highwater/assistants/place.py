"""The folder that a server was started in: what assistants name is looked for below it, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from highwater.assistants.contract import a_text
from highwater.claims import gallery, own
from highwater.claims.positions import may_be_spec
from highwater.claims.spec import Spec, load_spec, spec_of_text
from highwater.claims.tables import Wrong, shown

TEXT = "the text"
"""What a spec is called that is no file."""

LONGEST_SPEC, LONGEST_NAME = 20_000, 500
KEPT = re.compile(r"c\d{1,9}")
"""How the server names the counterexamples that it keeps."""


@attrs.frozen(kw_only=True)
class OfSpec:
    """A spec, by its name or as a text: one of both."""

    spec: str = a_text(LONGEST_NAME, "a .toml file below the folder, or gallery:NAME as list_specs names it")
    text: str = a_text(LONGEST_SPEC, "the TOML of a spec that is no file; instead of spec")
    folder: str = a_text(LONGEST_NAME, "with text: the folder below which it is read as if it stood there", ".")


def _reports_nothing(so_far: Mapping[str, Any]) -> None:
    pass


@attrs.frozen
class Place:
    """The folder, and what the process that answers knows besides.

    Attributes:
        root: the folder, without links.
        entries: counterexamples that the server has kept, by name.
        report: called now and then with how far a search is.
    """

    root: Path
    entries: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    report: Callable[[Mapping[str, Any]], None] = _reports_nothing

    def inside(self, given: str, key: str) -> Path:
        """A path below the folder, links followed.

        Raises:
            Wrong: it leads out of the folder, or is none.
        """
        if not given or "\0" in given:
            raise Wrong(f"{key}: {shown(given)} is no path")
        try:
            found = (self.root / given).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise Wrong(f"{key}: {shown(given)} is no path: {getattr(error, 'strerror', None) or error}") from None
        if not found.is_relative_to(self.root):
            raise Wrong(f"{key}: {shown(given)} leads out of {self.root}, the folder that the server was started in")
        return found.relative_to(self.root)

    def spec_path(self, given: str, key: str = "spec") -> Path:
        """The file of a spec: below the folder, or of the gallery.

        Raises:
            Wrong: it is neither.
        """
        if gallery.is_of_gallery(Path(given)):
            return gallery.the_only_one(Path(given))
        path = self.inside(given, key)
        if not may_be_spec(path):
            raise Wrong(f"{key}: {shown(given)} is no spec: those are .toml files")
        return path

    def spec_of(self, asked: OfSpec) -> Spec:
        """The spec that is asked about.

        Raises:
            Wrong: none is named, or two are, or it leads out of the folder.
            SpecError: it cannot be read or is wrong.
        """
        if bool(asked.spec) == bool(asked.text):
            raise Wrong("spec: give either spec, a name, or text, the TOML itself")
        if asked.spec:
            return load_spec(self.spec_path(asked.spec))
        return spec_of_text(self.inside(asked.folder, "folder") / TEXT, asked.text)

    def entry(self, name: str) -> Mapping[str, Any] | None:
        """A counterexample that the server has kept; None if the name is no such name.

        Raises:
            Wrong: it has kept none of that name.
        """
        if not KEPT.fullmatch(name):
            return None
        if name not in self.entries:
            kept = ", ".join(self.entries) or "none"
            raise Wrong(f"counterexample: there is no {name}; kept are {kept}: check the spec again")
        return self.entries[name]


def confined(root: Path, model_path: Sequence[str]) -> Place:
    """The folder, from now on the only one that modules with models come from; for a process that answers once.

    Raises:
        Wrong: a folder with models is outside, or is none.
    """
    folders = folders_below(root, model_path)
    own.confine(root)
    own.search(folders)
    return Place(root.resolve())


def folders_below(root: Path, model_path: Sequence[str]) -> list[Path]:
    """Folders with models.

    Raises:
        Wrong: one of them is outside, or is no folder.
    """
    found = [root.resolve() / Place(root.resolve()).inside(each, "--model-path") for each in model_path]
    for each in found:
        if not each.is_dir():
            raise Wrong(f"--model-path: {each} is no folder")
    return found
