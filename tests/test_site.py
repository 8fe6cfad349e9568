"""The documentation as a site: it loads no files from elsewhere, every link leads somewhere, and it is searched."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = "specs/truncation"
NPM = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
ASSET = re.compile(
    r'''<(?:script|img|iframe|source)[^>]+src="([^"]+)"|<link(?![^>]*canonical)[^>]+href="([^"]+)"'''
    r"""|url\(["']?([^"')]+)"""
)
LINK = re.compile(r'<a[^>]+href="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, str(ROOT / "docs" / "site.py"), str(folder), "--claims", FOLDER]
    command += [] if NPM else ["--no-playground"]
    subprocess.run(command, check=True, cwd=folder.parent)
    return folder


def pages(site: Path) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert len(found) > 30
    return found


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for file in [*pages(site), *site.rglob("*.css")]:
        for found in ASSET.findall(file.read_text(encoding="utf-8")):
            asset = next(filter(None, found))
            assert not re.match(r"(https?:)?//", asset), f"{file.relative_to(site)}: {asset}"


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    for page in pages(site):
        if page.name == "404.html":  # is served for any address, and its links begin at the root
            continue
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = unquote(link.partition("#")[0])
            if target and not re.match(r"\w+:", target):
                assert (page.parent / target).exists(), f"{page.relative_to(site)}: {link}"


@pytest.mark.slow
def test_the_site_has_the_counterexamples_of_the_gallery(site: Path) -> None:
    listed = (site / FOLDER / "index.html").read_text(encoding="utf-8")
    name = "kip_101_fails_on_two_brokers"
    assert f'href="../../counterexamples/{name}.html"' in listed
    shown = (site / "counterexamples" / f"{name}.html").read_text(encoding="utf-8")
    assert "become_follower_truncating_by_kip_101" in shown
    assert (site / "specs" / "truncation" / f"{name}.toml").read_bytes() == (
        ROOT / FOLDER / f"{name}.toml"
    ).read_bytes()
    index = (site / "counterexamples" / "index.html").read_text(encoding="utf-8")
    assert f"{FOLDER}/{name}.toml" in index
    assert str(ROOT) not in index + shown


@pytest.mark.slow
def test_text_of_the_pages_is_searchable(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert any("canonical form" in each["text"] and each["location"].startswith("docs/concepts") for each in found)
    assert any("kip 101 fails on two brokers" in each["text"] for each in found)


@pytest.mark.slow
def test_every_claim_has_a_page(site: Path) -> None:
    listed = (site / FOLDER / "index.html").read_text(encoding="utf-8")
    claims = sorted((ROOT / FOLDER).rglob("*.toml"))
    for claim in claims:
        assert f'href="../../counterexamples/{claim.stem}.html"' in listed
        assert (site / "counterexamples" / f"{claim.stem}.html").exists()
    names = [claim.stem for claim in (ROOT / "specs").rglob("*.toml")]
    assert len(names) == len({*names}), "a page is named after its claim"


@pytest.mark.slow
@pytest.mark.skipif(not NPM, reason="npm is not installed")
def test_small_claims_can_be_tried_in_the_playground(site: Path) -> None:
    listed = (site / FOLDER / "index.html").read_text(encoding="utf-8")
    counts = [
        tomllib.loads(claim.read_text(encoding="utf-8"))["expect"]["distinct_states"]
        for claim in (ROOT / FOLDER).rglob("*.toml")
    ]
    assert 0 < listed.count('href="../../playground/index.html#1.') == sum(count <= 50_000 for count in counts)
    assert (site / "playground" / "python.js").exists()
    assert 'href="playground/index.html"' in (site / "index.html").read_text(encoding="utf-8")
