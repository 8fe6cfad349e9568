"""The playground: a page on which models run in the browser, from a folder, with nothing installed and no network.

Python for browsers comes from npm, of one version and with its hash. What our code needs besides is taken from where
this runs. All of it is put into scripts, gzipped and in base64: a page that is opened from a folder may load scripts,
and nothing else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs
import click
import jinja2

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYODIDE = "pyodide@0.29.4"  # with what npm calls dist.integrity
INTEGRITY = "sha512-tCseTsqU3kSxZIjkue5zXxTMNEwrKZwOIIEQRBA/VzHxFN1hoCxe4w41phfCdHd9it9RcCNQb5K/Re0InqMgvA=="
KEPT = ROOT / "build" / "npm"
OF_PYODIDE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LIBRARIES = (
    "attr",
    "attrs",
    "cattr",
    "cattrs",
    "jinja2",
    "markupsafe",
    "networkx",
    "rich",
    "tomlkit",
    "typing_extensions",
)
OURS = ("model", "invariants", "explorer")
NOT_OURS = ("asking", "assistants", "cli", "gallery", "scaffold", "conformance", "cluster", "spark", *OURS)
SCAFFOLD = ROOT / "src" / "highwater" / "scaffold"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files make the same archive


class BuildError(Exception):
    """The playground cannot be built here: the message says why, and what to do."""


@attrs.frozen
class Example:
    """A claim to begin with.

    Attributes:
        path: of the claim, below `specs`, or of the scaffold.
        title: in the list.
    """

    group: str
    title: str
    path: Path
    model: Path | None = None


def _of_gallery(group: str, *claims: tuple[str, str]) -> Iterator[Example]:
    return (Example(group, title, ROOT / "specs" / f"{path}.toml") for title, path in claims)


EXAMPLES = (
    Example(
        "A model of your own",
        "A lock service whose late writer gets through (46 states)",
        SCAFFOLD / "specs" / "without_fencing_a_late_writer_gets_through.toml",
        SCAFFOLD / "lock_service.py",
    ),
    Example(
        "A model of your own",
        "The same with fencing, which keeps it out",
        SCAFFOLD / "specs" / "fencing_keeps_late_writers_out.toml",
        SCAFFOLD / "lock_service.py",
    ),
    *_of_gallery(
        "Truncation and fencing",
        ("KIP-101 loses committed records (5,491 states)", "truncation/kip_101_fails_on_two_brokers"),
        ("KIP-320 keeps them on two brokers (957)", "fencing/kip_320_keeps_committed_records_on_two_brokers"),
        ("KIP-320, as many states as TLC counts (39,619)", "published_counts/kip_320_has_as_many_states_as_tlc_counts"),
    ),
    *_of_gallery(
        "One partition, message by message",
        (
            "A leader overwrites the controller's ISR (76)",
            "partition/isr_agreement/writing_the_isr_without_its_version_overwrites_that_of_the_controller",
        ),
        (
            "A replica joins the ISR after it has caught up (1,734)",
            "partition/isr_expansion/a_restarted_replica_joins_the_isr_after_it_has_caught_up",
        ),
    ),
    *_of_gallery(
        "The control plane",
        (
            "KRaft: a disk fails and the leader goes on, empty (182)",
            "kraft/a_leader_whose_directory_failed_leads_on_with_an_empty_log",
        ),
        (
            "ZooKeeper: a leader epoch goes back (187)",
            "controller/fail_over/a_broker_that_accepts_any_leader_epoch_goes_back_to_an_older_one",
        ),
        ("Raft: half of the voters elect two leaders (72)", "quorum_reference/half_of_the_voters_elect_two_leaders"),
        (
            "Liveness: a lone replica never leads again (27)",
            "kraft_reference/kip_966_leaves_a_lone_replica_without_a_leader",
        ),
    ),
)


def build_playground(folder: Path) -> None:
    """Build the page and all that it needs into a folder.

    Raises:
        BuildError: Pyodide cannot be had.
    """
    package = fetched()
    folder.mkdir(parents=True, exist_ok=True)
    lock = json.loads(package["pyodide-lock.json"])
    files = {name: package[name] for name in OF_PYODIDE}
    _write_script(folder / "python.js", {**files, "lock.json": json.dumps({**lock, "packages": {}}).encode()})
    ours = {
        "worker.js": (HERE / "worker.js").read_bytes(),
        "libraries.zip": zipped(libraries()),
        "highwater.zip": zipped(sources()),
    }
    _write_script(folder / "highwater.js", ours)
    (folder / "index.html").write_text(page(), encoding="utf-8")
    shutil.copyfile(HERE / "page.js", folder / "page.js")
    colours = (ROOT / "src/highwater/viewer/templates/style.css").read_text(encoding="utf-8").partition("* {")[0]
    (folder / "page.css").write_text(colours + (HERE / "page.css").read_text(encoding="utf-8"), encoding="utf-8")


def page() -> str:
    """The page itself, with its examples."""
    from highwater.viewer.pages import script_hashes

    groups: dict[str, list[Any]] = {}
    for number, each in enumerate(EXAMPLES):
        groups.setdefault(each.group, []).append({"number": number, "title": each.title})
    data = [
        {
            "name": each.path.stem,
            "model": each.model.read_text(encoding="utf-8") if each.model else "",
            "claim": each.path.read_text(encoding="utf-8"),
        }
        for each in EXAMPLES
    ]
    template = jinja2.Environment(autoescape=True).from_string((HERE / "page.html").read_text(encoding="utf-8"))
    return template.render(groups=groups, data=data, script_hashes=script_hashes())


def link_to(model: str, claim: str, name: str) -> str:
    """What is behind the page's own address in a link to both texts, as the page makes it."""
    packer = zlib.compressobj(9, wbits=-15)
    text = json.dumps({"model": model, "claim": claim, "name": name}, ensure_ascii=False).encode()
    data = packer.compress(text) + packer.flush()
    return f"#1.{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


# Pyodide


def fetched() -> Mapping[str, bytes]:
    """The files of Pyodide's package, fetched by npm if they are not kept from before.

    Raises:
        BuildError: npm is missing, has no such package here, or what came is not what is expected.
    """
    archive = KEPT / f"{PYODIDE.replace('@', '-')}.tgz"
    if not archive.exists() or not _is_expected(archive.read_bytes()):
        _fetch(archive)
    with tarfile.open(archive) as package:
        wanted = {f"package/{name}": name for name in (*OF_PYODIDE, "pyodide-lock.json")}
        return {wanted[each.name]: _read(package, each) for each in package if each.name in wanted}


def _read(package: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = package.extractfile(member)
    assert file is not None
    return file.read()


def _fetch(archive: Path) -> None:
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
    if npm is None:
        raise BuildError("npm is missing, which fetches Python for browsers: make npm")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        command = [npm, "pack", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", PYODIDE]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        found = Path(folder) / archive.name
        if ran.returncode or not found.exists():
            why = next((line for line in ran.stderr.splitlines() if line.strip()), f"it ended with {ran.returncode}")
            raise BuildError(f"npm has not fetched {PYODIDE}: {why.strip()}")
        if not _is_expected(found.read_bytes()):
            raise BuildError(f"npm has fetched another {PYODIDE} than expected: its hash is not {INTEGRITY}")
        found.replace(archive)


def _is_expected(data: bytes) -> bool:
    return f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}" == INTEGRITY


# Our code, and the libraries that it imports


def sources() -> Iterator[tuple[str, Path]]:
    """The modules and templates that plain Python needs, each with its name in the archive."""
    package = ROOT / "src" / "highwater"
    for name in OURS:
        yield from _files(ROOT / name, f"highwater/{name}")
    for each in sorted(package.iterdir()):
        if each.name not in NOT_OURS:
            yield from _files(each, f"highwater/{each.name}") if each.is_dir() else [(f"highwater/{each.name}", each)]


def libraries() -> Iterator[tuple[str, Path]]:
    """The modules of the libraries, as they are installed where this runs."""
    for name in LIBRARIES:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise BuildError(f"the library {name} is not installed where the playground is built")
        origin = Path(spec.origin)
        yield from _files(origin.parent, name) if origin.name == "__init__.py" else [(origin.name, origin)]


def _files(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        if (
            file.is_file()
            and file.suffix in (".py", ".html", ".js", ".css")
            and not {"tests", "__pycache__"} & {*parts}
        ):
            yield "/".join((name, *parts)), file


def zipped(files: Iterable[tuple[str, Path]]) -> bytes:
    """An archive, stored: the script that holds it is gzipped as a whole."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, file in files:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), file.read_bytes())
    return written.getvalue()


def _write_script(path: Path, files: Mapping[str, bytes]) -> None:
    lines = (
        f'file("{name}", "{base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()}");'
        for name, data in files.items()
    )
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=ROOT / "build" / "site" / "playground")
def main(folder: Path) -> None:
    """Build the playground alone into FOLDER."""
    try:
        build_playground(folder)
    except (BuildError, OSError) as error:
        words = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
        print(f"playground: {words}", file=sys.stderr)
        sys.exit(2)
    print(f"wrote {folder / 'index.html'}")


if __name__ == "__main__":
    main()
