"""The documentation as a static site, with search, a page for each claim, and the playground: `make site`.

The pages are those of the repository, with their links. What they link to comes along. The site needs no network.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import click
import generate
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playground.build import BuildError, build_playground, fetched, link_to

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "specs/README.md",
    "explorer/kernels/README.md",
    "explorer/search/README.md",
    "bench/peers/README.md",
)
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)")
NAVIGATION = {
    "Start": ("README.md", "docs/playground.md", "docs/operators.md", "docs/tutorial.md", "docs/concepts.md"),
    "Findings": (
        "docs/findings.md",
        "docs/questions.md",
        "specs/README.md",
        "docs/controller.md",
        "docs/kraft.md",
        "docs/conformance.md",
    ),
    "Write": ("docs/specs.md", "docs/spec_reference.md", "docs/domains.md", "docs/liveness.md", "docs/refinement.md"),
    "Use": (
        "docs/cli.md",
        "docs/explore.md",
        "docs/assistants.md",
        "docs/ci.md",
        "docs/library.md",
        "docs/implementation.md",
        "docs/traces.md",
        "docs/large.md",
        "docs/spark.md",
    ),
    "Reference": (
        "docs/models.md",
        "docs/articles.md",
        "docs/properties.md",
        "docs/results.md",
        "docs/certificates.md",
        "docs/repair.md",
        "docs/explain.md",
        "docs/conform.md",
        "docs/walk.md",
        "docs/reproduce.md",
        "docs/kip.md",
    ),
    "Build": ("CONTRIBUTING.md", "explorer/kernels/README.md", "explorer/search/README.md"),
    "Trust": ("docs/testing.md", "docs/limits.md", "docs/performance.md", "docs/comparison.md", "CHANGELOG.md"),
}
COUNTEREXAMPLES, PLAYGROUND = "counterexamples", "playground"
MOST_STATES = 50_000  # of a claim that is offered to be tried there: a minute or two
STYLE = """
td, th { vertical-align: top; }
.wy-nav-content { max-width: 72em; }
.wy-table-responsive table td { white-space: normal; }
"""


def pages() -> list[Path]:
    """The Markdown of the repository."""
    found = [ROOT / page for page in PAGES] + sorted((ROOT / "docs").glob("*.md"))
    unplaced = {page.relative_to(ROOT).as_posix() for page in found} - {p for ps in NAVIGATION.values() for p in ps}
    assert unplaced <= {"bench/peers/README.md"}, f"NAVIGATION in docs/site.py leaves out {unplaced}"
    return found


def gather(folder: Path, counterexamples: Path, *, playground: bool) -> None:
    """Put all pages and what they link to into a folder, laid out as the repository is.

    Args:
        playground: whether claims can be tried there.
    """
    listed: set[Path] = set()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for target in {match[1] for match in LINK.finditer(text)}:
            linked = (page.parent / target).resolve()
            if linked.is_dir() and not linked.is_relative_to(ROOT / "specs"):
                text = re.sub(rf"\[([^\]]*)\]\({re.escape(target)}\)", r"\1", text)  # code, which the site leaves out
            elif linked.is_dir():
                listed.add(linked)
                text = re.sub(rf"\]\({re.escape(target)}(?=[)#])", f"]({target.rstrip('/')}/index.md", text)
            elif linked.suffix != ".md":
                copy(linked, folder)
        write(folder / page.relative_to(ROOT), text)
    for claims in listed:
        write(
            folder / claims.relative_to(ROOT) / "index.md",
            "\n".join(list_of(claims, folder, counterexamples, playground=playground)),
        )
    for name in generate.ON_THE_SITE:
        write(folder / "docs" / name, generate.page(name))
    write(folder / "style.css", STYLE)


def copy(file: Path, folder: Path) -> None:
    target = folder / file.relative_to(ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def list_of(claims: Path, folder: Path, counterexamples: Path, *, playground: bool) -> Iterator[str]:
    """The claims below a folder: their names, what they say of themselves, and their counterexamples."""
    yield from (f"# Claims: {claims.relative_to(ROOT / 'specs').as_posix().replace('_', ' ')}", "")
    up = "../" * len(claims.relative_to(ROOT).parts)
    for file in sorted(claims.rglob("*.toml")):
        copy(file, folder)
        text = file.read_text(encoding="utf-8")
        said = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
        name = file.relative_to(claims).with_suffix("").as_posix()
        page = f"{file.stem}.html"
        shown = counterexamples / page
        found = shown.exists() and 'id="board"' in shown.read_text(encoding="utf-8")
        label = "Counterexample" if found else "What was explored"
        trace = f" [{label}]({up}{COUNTEREXAMPLES}/{page})." if shown.exists() else ""
        small = playground and tomllib.loads(text)["expect"].get("distinct_states", MOST_STATES + 1) <= MOST_STATES
        trying = f" [Try it]({up}{PLAYGROUND}/index.html{link_to('', text, file.stem)})." if small else ""
        yield from (f"- [{name.replace('_', ' ')}]({name}.toml): {' '.join(said)}{trace}{trying}", "")


def build_site(site: Path, counterexamples: Path, *, playground: bool = True) -> None:
    """Build the site of the pages, and put the counterexamples and the playground into it.

    Raises:
        BuildError: the playground cannot be built here.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "pages"
        if playground:
            build_playground(folder / PLAYGROUND)
        gather(folder, counterexamples, playground=playground)
        shutil.copytree(counterexamples, folder / COUNTEREXAMPLES)
        write(settings := Path(temporary) / "mkdocs.yml", "site_name: Highwater\n")  # the rest is said here
        config = load_config(
            config_file=str(settings),
            docs_dir=str(folder),
            site_dir=str(site.resolve()),
            use_directory_urls=False,
            nav=[
                *({name: list(of)} for name, of in NAVIGATION.items()),
                {"Counterexamples": f"{COUNTEREXAMPLES}/index.html"},
                *([{"Playground": f"{PLAYGROUND}/index.html"}] if playground else []),
            ],
            theme={"name": "readthedocs", "highlightjs": False, "navigation_depth": 2},
            extra_css=["style.css"],
            markdown_extensions=["tables", "fenced_code", "toc"],
            plugins=["search"],
            validation={"links": {"not_found": "warn", "anchors": "warn"}, "nav": {"omitted_files": "ignore"}},
            strict=True,
        )
        build(config)


@click.command()
@click.argument("site", type=click.Path(path_type=Path), default=ROOT / "build" / "site")
@click.option("--claims", multiple=True, default=["specs"], help="Whose counterexamples to show.")
@click.option("--playground/--no-playground", default=True, help="Without it, nothing is fetched by npm.")
def main(site: Path, claims: tuple[str, ...], *, playground: bool) -> None:
    """Check the claims of the gallery, and build the documentation with their counterexamples into SITE."""
    from highwater.cli.main import main as highwater

    try:
        if playground:
            fetched()
    except BuildError as error:  # before minutes of checking
        print(f"{error}; without the playground: make site SITE=--no-playground", file=sys.stderr)
        sys.exit(2)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / COUNTEREXAMPLES
        with chdir(ROOT):  # pages name files below the repository, and not where it is on this machine
            code = highwater(["check", *claims, "--html", str(folder), "--no-trace"], standalone_mode=False)
        if code not in (0, 1):  # a claim that is not met has a page, too
            sys.exit(code)
        build_site(site, folder, playground=playground)
    print(f"wrote {site / 'index.html'}")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
