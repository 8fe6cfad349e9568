"""Commands and examples of the documentation work and print the output shown; and the reference pages are those of the
code.

A page is read from top to bottom in a folder of its own. A fenced block is a file where a comment before it says so
(`file`, `append`, and `change` for a diff); of a block of commands, those after `$` are run, with further lines after
`>`, and what follows one is what it must print. `exit: N` goes before commands that fail; `not run: why` before blocks
that are left alone.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from highwater.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "specs" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
BLOCK = re.compile(
    r"(?:<!-- (?P<what>[a-z ]+): (?P<of>.+?) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
SHELL = ("console", "sh", "")


def blocks(page: Path) -> list[dict[str, str]]:
    return [match.groupdict(default="") for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def commands(block: dict[str, str]) -> list[tuple[str, str]]:
    """The commands of a block, each with what it prints. Without a `$` every line is a command."""
    lines = block["text"].splitlines()
    if not any(line.startswith("$ ") for line in lines):
        return [(line, "") for line in lines if line.strip()] if block["language"] == "sh" else []
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        elif found:
            found[-1][1].append(line)
    return [(command, "\n".join(printed).strip("\n")) for command, printed in found]


def test_every_page_has_blocks_that_are_understood() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block["what"] in ("", "file", "append", "change", "exit", "not run"), (page.name, block["what"])
            if block["language"] in ("console", "sh") and block["what"] != "not run":
                assert commands(block), (page.name, block["text"])


def test_the_program_takes_the_commands_that_are_not_run() -> None:
    taken = 0
    for block in (block for page in PAGES for block in blocks(page) if block["what"] == "not run"):
        for command, _ in commands(block | {"text": block["text"].replace("\\\n", " ")}):
            program, *words = shlex.split(re.sub(r"\s#.*", "", command)) or [""]
            if program == "highwater":
                with click.Context(main) as context:
                    named = main.get_command(context, words[0])
                    assert named is not None, command
                    named.make_context(words[0], words[1:], parent=context)
                taken += 1
    assert taken > 20


ON_SPARK = ROOT / "docs" / "spark.md"  # in the process that has Spark's session


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.stem in ("README", "tutorial") else [pytest.mark.slow])
        for page in PAGES
        if any(map(commands, blocks(page))) and page != ON_SPARK
    ],
)
def test_the_commands_and_examples_of_a_page_work(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    follow_page(page, tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_commands_and_examples_of_the_page_on_spark_work(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    follow_page(ON_SPARK, tmp_path, monkeypatch)


def follow_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name != "tutorial.md":  # which begins with an empty folder
        shutil.copytree(ROOT / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within a second
    # a slow machine prints progress every ten seconds, which no page shows
    monkeypatch.setattr("highwater.reports.progress.SECONDS_BETWEEN_LINES", float("inf"))
    for folders in ("_FOLDERS", "_BESIDE"):  # the lock service of another page is not that of this one
        monkeypatch.setattr(f"highwater.claims.own.{folders}", {})
    path = list(sys.path)
    for block in blocks(page):
        follow(block, tmp_path)
        for name, module in list(sys.modules.items()):
            if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]
    sys.path[:] = path


def follow(block: dict[str, str], folder: Path) -> None:
    what, of, text = block["what"], block["of"], block["text"]
    match what:
        case "not run":
            return
        case "file":
            (folder / of).parent.mkdir(parents=True, exist_ok=True)
            (folder / of).write_text(text, encoding="utf-8")
        case "append":
            (folder / of).write_text((folder / of).read_text(encoding="utf-8") + text, encoding="utf-8")
        case "change":
            old = "".join(line[1:] for line in text.splitlines(keepends=True) if line[0] in "- ")
            new = "".join(line[1:] for line in text.splitlines(keepends=True) if line[0] in "+ ")
            before = (folder / of).read_text(encoding="utf-8")
            assert before.count(old) == 1, f"{of} holds these lines {before.count(old)} times:\n{old}"
            (folder / of).write_text(before.replace(old, new), encoding="utf-8")
        case _:
            for command, printed in commands(block) if block["language"] in SHELL else ():
                run(command, printed, int(of) if what == "exit" else 0)


def run(command: str, printed: str, exit_code: int) -> None:
    """Run one command, `highwater` in this process, and compare what it prints, but for times."""
    program, *arguments = shlex.split(command, comments=True)
    if program == "highwater":
        ran = CliRunner().invoke(main, arguments)
        if ran.exception is not None and not isinstance(ran.exception, SystemExit):
            raise ran.exception
        code, output = ran.exit_code, ran.output
    else:
        assert program in ("pytest", "python"), f"{command}: say why it is not run"
        module = ["-m", "pytest"] if program == "pytest" else []
        done = subprocess.run([sys.executable, *module, *arguments], capture_output=True, text=True, check=False)
        code, output = done.returncode, done.stdout + done.stderr
    assert code == exit_code, f"$ {command}\n{output}"
    if printed:
        expected = "\n".join(map(re.escape, timeless(printed).splitlines())).replace(re.escape("[...]"), ".*")
        assert re.fullmatch(expected, timeless(output).strip("\n"), re.DOTALL), f"$ {command}\n{output}"


def timeless(text: str) -> str:
    """Without what differs from run to run: times, rates, sizes in memory, how many paths there was time for, and
    spaces at the ends of lines.
    """
    text = re.sub(r"; before that [\d.]+ s of compiling machine code, once on this machine", "", text)
    text = re.sub(r"[\d.]+ s, [\d.]+( [kMG])? states/s(, [\d,]+ paths compiled, [\d.]+ [KMG]?i?B)?", "TIMES", text)
    text = re.sub(r"[\d.]+ s, [\d.]+( [kMG])? steps/s", "TIMES", text)
    text = re.sub(r"and [\d,]+ of [\d,]+ walked paths \(\d+%\)", "and PATHS", text)
    text = re.sub(r"(states|steps) in [\d.]+ s", r"\1 in TIME", text)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


# --- reference pages


def generator():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", list(generator().PAGES))
def test_reference_pages_are_those_of_the_code(name: str) -> None:
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == generator().page(name), "run `make docs`"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


def test_prose_of_the_readme_fits_80_columns() -> None:
    text = re.sub(
        r"^```.*?^```|^\|.*?$|^<!--.*?-->", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.M | re.S
    )
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_the_tutorials_model_takes_less_than_a_hundred_lines() -> None:
    tutorial = [block for block in blocks(ROOT / "docs" / "tutorial.md") if block["of"] == "lock_service.py"]
    lines = [
        line
        for block in tutorial
        for line in block["text"].splitlines()
        if block["what"] != "change" or line.startswith("+")
    ]
    assert len(lines) < 100


LINK = re.compile(r"\]\(([^)#]+)\)")
INDEX = ROOT / "specs" / "README.md"


def unlisted(claims: list[Path], pages: list[Path]) -> list[Path]:
    """The claims that no row of the pages names: neither they nor, outside the gallery of pairs, their folder is
    linked.
    """
    linked = {
        (page.parent / target).resolve() for page in pages for target in LINK.findall(page.read_text(encoding="utf-8"))
    }
    pairs = ROOT / "specs" / "partition"
    whole = {
        folder
        for folder in linked
        if folder.is_dir() and (folder.parent != pairs or folder.name in ("releases", "promises"))
    }
    return [claim for claim in claims if claim not in linked and claim.parent not in whole]


def test_every_claim_has_a_row_in_the_index() -> None:
    claims = sorted((ROOT / "specs").rglob("*.toml"))
    pages = [INDEX, *(ROOT / "docs" / name for name in ("controller.md", "kraft.md", "questions.md"))]
    assert unlisted(claims, pages) == []


def test_a_claim_without_a_row_is_noticed() -> None:
    new = ROOT / "specs" / "partition" / "truncation" / "a_new_claim.toml"
    assert unlisted([new], [INDEX]) == [new]
