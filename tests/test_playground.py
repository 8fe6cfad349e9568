"""The playground as readers have it: opened from its folder in a browser, without a network, also on a phone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import highwater
from highwater.cli.init import SCAFFOLD
from highwater.reports.terminal import bounds_line, verdict_line

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "docs" / "playground" / "build.py"
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
NPM = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
REQUIRED = os.environ.get("HIGHWATER_BROWSER") == "required"
PATIENCE = 300  # seconds; a machine may be busy, and nothing is measured here
MODEL = (SCAFFOLD / "lock_service.py").read_text(encoding="utf-8")
LOCKS = (SCAFFOLD / "specs" / "without_fencing_a_late_writer_gets_through.toml").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("playground"),  # one page, which takes seconds to start
    pytest.mark.skipif(
        not (BROWSER and DRIVER and NPM) and not REQUIRED, reason="chromium, chromedriver or npm are not installed"
    ),
]


def module() -> Any:
    """The module that builds it."""
    spec = importlib.util.spec_from_file_location("playground_build", BUILD)
    assert spec is not None and spec.loader is not None
    built = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(built)
    return built


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "playground"
    subprocess.run([sys.executable, str(BUILD), str(folder)], check=True, cwd=folder.parent)
    return folder


@pytest.fixture(scope="module")
def chromium(folder: Path) -> Iterator[webdriver.Chrome]:
    """With the page, once Python runs in it. At the end nobody complained, and nothing came from elsewhere."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    at_width(driver, 1400)
    driver.get((folder / "index.html").as_uri())
    until(driver, "document.body.dataset.ready")
    yield driver
    logged = [line["message"] for line in driver.get_log("browser")]
    events = [json.loads(line["message"])["message"] for line in driver.get_log("performance")]
    driver.quit()
    assert not logged
    asked = {each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"}
    places = {url.partition("#")[0].removeprefix(folder.as_uri()) for url in asked}
    assert {place for place in places if not re.match(r"(blob|data|about):", place)} == {
        "/index.html",
        "/page.css",
        "/page.js",
        "/python.js",
        "/highwater.js",
    }


@pytest.fixture
def page(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    at_width(chromium, 1400)
    yield chromium
    chromium.switch_to.default_content()
    chromium.execute_script("document.querySelectorAll('dialog[open]').forEach((each) => each.close())")


def at_width(driver: webdriver.Chrome, width: int, *, dark: bool = False) -> None:
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def until(driver: webdriver.Chrome, condition: str) -> Any:
    return WebDriverWait(driver, PATIENCE).until(lambda _: driver.execute_script(f"return {condition}"), condition)


def put(page: webdriver.Chrome, model: str, claim: str) -> None:
    """Type both texts, as far as the page notices."""
    for name, text in (("model", model), ("claim", claim)):
        page.execute_script(
            "const [name, text] = arguments, field = document.getElementById(name);"
            "field.value = text; field.dispatchEvent(new Event('input'));",
            name,
            text,
        )


def press(page: webdriver.Chrome, button: str) -> None:
    page.execute_script("document.getElementById(arguments[0]).click()", button)
    until(page, "document.body.dataset.done")


def text_of(page: webdriver.Chrome, name: str) -> str:
    return str(page.execute_script("return document.getElementById(arguments[0]).innerText", name))


CLAIMS = (
    "truncation/kip_101_fails_on_two_brokers",
    "fencing/kip_320_keeps_committed_records_on_two_brokers",
    "partition/isr_agreement/writing_the_isr_without_its_version_overwrites_that_of_the_controller",
    "controller/fail_over/a_broker_that_accepts_any_leader_epoch_goes_back_to_an_older_one",
    "kraft_reference/kip_966_leaves_a_lone_replica_without_a_leader",
)


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_come_out_in_the_browser_as_on_this_machine(page: webdriver.Chrome, name: str) -> None:
    path = ROOT / "specs" / f"{name}.toml"
    here = highwater.check(path, engine="python")
    put(page, "", path.read_text(encoding="utf-8"))
    press(page, "check")
    said = text_of(page, "report")
    counts = (
        f"{here.outcome.distinct_states:,} distinct, {here.outcome.generated:,} generated, depth {here.outcome.depth}"
    )
    for words in ("ok", verdict_line(here), bounds_line(here), counts):
        assert words in said
    page.switch_to.frame("shown")
    steps = page.find_elements(By.CSS_SELECTOR, "tr[data-step]")
    assert len(steps) == (len(here.trace) + 1 if here.trace else 0)


def test_a_model_is_stepped_through_by_hand_on_a_phone(page: webdriver.Chrome) -> None:
    at_width(page, 390, dark=True)
    put(page, MODEL, LOCKS)
    press(page, "check")
    press(page, "from-end")
    page.switch_to.frame("shown")
    until(page, "document.getElementById('panel')?.innerText.includes('After step 5')")
    page.switch_to.default_content()
    for part in ("claim", "result"):
        page.find_element(By.CSS_SELECTOR, f"[data-to={part}]").click()
    page.switch_to.frame("shown")
    until(page, "document.getElementById('board').getBoundingClientRect().height > 100")
    page.execute_script("document.querySelector('button[data-verb=undo]').click()")
    until(page, "document.body.innerText.includes('After step 4')")
    page.execute_script("document.getElementById('stop').click()")  # what was done is done again
    page.switch_to.default_content()
    until(page, "!document.body.dataset.ready")
    until(page, "document.body.dataset.ready && document.getElementById('shown').srcdoc.includes('After step 4')")
    page.switch_to.frame("shown")
    until(page, "document.readyState === 'complete' && document.querySelector('button.take')")
    page.execute_script("document.querySelector('button.take').click()")
    until(page, "document.body.innerText.includes('After step 5')")
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"


def test_a_phone_shows_one_part_at_a_time_and_nothing_beside_the_screen(page: webdriver.Chrome) -> None:
    at_width(page, 390)
    for part in ("model", "claim", "result"):
        page.find_element(By.CSS_SELECTOR, f"[data-to={part}]").click()
        shown = [each.get_attribute("id") for each in page.find_elements(By.TAG_NAME, "section") if each.is_displayed()]
        assert shown == [f"{part}-part"]
        assert page.execute_script("return document.documentElement.scrollWidth") == 390
    at_width(page, 1400)
    assert all(each.is_displayed() for each in page.find_elements(By.TAG_NAME, "section"))


def test_an_error_is_shown_with_its_line(page: webdriver.Chrome) -> None:
    put(page, MODEL.replace("world.granted + 1", "world.granted + more"), LOCKS)
    press(page, "check")
    assert "acquire(client c0) raised NameError: name 'more' is not defined; at lock_service.py:80" in text_of(
        page, "problem"
    )
    assert page.find_element(By.CSS_SELECTOR, "#model-part .lines b").text == "80"
    put(page, MODEL, LOCKS.replace("clients = 2", "clients = 9"))
    press(page, "check")
    assert ".toml:4:12: bounds.clients: 9 is out of range" in text_of(page, "problem")
    assert page.find_element(By.CSS_SELECTOR, "#claim-part .lines b").text == "4"
    assert not page.find_elements(By.CSS_SELECTOR, "#model-part .lines b")


def test_what_is_shown_says_when_it_is_of_older_texts(page: webdriver.Chrome) -> None:
    """Those are edited, also while a search runs; and a search ends where an example is chosen meanwhile."""
    put(page, MODEL, LOCKS)
    press(page, "check")
    assert not page.find_element(By.ID, "older").is_displayed()
    put(page, MODEL, LOCKS.replace("clients = 2", "clients = 1"))
    assert page.find_element(By.ID, "older").is_displayed()
    put(page, MODEL, LOCKS)
    assert not page.find_element(By.ID, "older").is_displayed()
    page.execute_script("document.getElementById('check').click()")
    put(page, MODEL.replace("token == 0", "token == 1"), LOCKS)
    until(page, "document.body.dataset.done")
    assert page.find_element(By.ID, "older").is_displayed()
    page.execute_script("document.getElementById('check').click()")
    page.execute_script(
        "const list = document.getElementById('example'); list.value = '1'; list.dispatchEvent(new Event('change'));"
    )
    until(page, "document.body.dataset.done")
    assert text_of(page, "problem") == "Stopped, as other texts came."
    assert not page.find_element(By.ID, "report-part").is_displayed()
    until(page, "document.body.dataset.ready")


def test_a_search_is_stopped_and_another_one_begun(page: webdriver.Chrome) -> None:
    for_ever = MODEL.replace("    token = world.granted + 1\n", "    while True:\n        pass\n")
    put(page, for_ever, LOCKS)
    page.find_element(By.ID, "check").click()
    until(page, "!document.getElementById('running').hidden")
    page.find_element(By.ID, "stop").click()
    until(page, "document.body.dataset.done")
    assert text_of(page, "problem").startswith("Stopped by you")
    put(page, MODEL, LOCKS)
    press(page, "check")
    assert "46 distinct" in text_of(page, "report")


def test_a_link_holds_both_texts_and_runs_nothing(page: webdriver.Chrome, folder: Path) -> None:
    ours = f"# für {'x' * 50}\n"
    put(page, ours + MODEL, LOCKS)
    page.find_element(By.ID, "share").click()
    until(page, "document.getElementById('link-part').open")
    link = str(page.execute_script("return document.getElementById('link').value"))
    assert link == page.current_url
    page.find_element(By.CSS_SELECTOR, "#link-part button:not([id])").click()
    put(page, "", "")
    for fragment in (link.partition("#")[2], module().link_to(ours + MODEL, LOCKS, "a_lock")[1:]):
        page.execute_script(
            "location.hash = ''; document.getElementById('model').value = ''; location.hash = arguments[0]", fragment
        )
        until(page, "document.getElementById('model').value")
        assert page.execute_script("return document.getElementById('model').value") == ours + MODEL
        assert page.execute_script("return document.getElementById('claim').value") == LOCKS
        assert "nothing of them runs until you press" in text_of(page, "notice")
        assert page.execute_script(
            "return document.getElementById('report-part').hidden && !document.body.dataset.done"
        )
    assert text_of(page, "claim-file") == "a_lock.toml"
    for damaged, words in (("1.AAAA", "it is damaged"), ("2.abcd", "another version"), ("nothing", "it is not whole")):
        page.execute_script("location.hash = arguments[0]", damaged)
        until(page, f"document.getElementById('notice').innerText.includes({json.dumps(words)})")


def test_a_link_that_is_too_long_is_not_made(page: webdriver.Chrome) -> None:
    put(page, "".join(f"# {number**9}\n" for number in range(4000)), LOCKS)
    page.find_element(By.ID, "share").click()
    until(page, "document.getElementById('link-part').open")
    assert "characters, and more than 30,000 get lost on the way" in text_of(page, "link-says")
    assert not page.find_element(By.ID, "link").is_displayed()


def test_the_keyboard_edits_leaves_the_editor_and_checks(page: webdriver.Chrome) -> None:
    put(page, MODEL, LOCKS)
    model = page.find_element(By.ID, "model")
    page.execute_script("arguments[0].focus(); arguments[0].setSelectionRange(0, 0)", model)
    model.send_keys(Keys.TAB)
    assert page.execute_script("return arguments[0].value.slice(0, 7)", model) == '    """'
    model.send_keys(Keys.SHIFT, Keys.TAB)
    assert page.execute_script("return arguments[0].value", model) == MODEL
    model.send_keys(Keys.ESCAPE, Keys.TAB)
    assert page.switch_to.active_element.get_attribute("id") == "claim"
    page.switch_to.active_element.send_keys(Keys.CONTROL, Keys.ENTER)
    until(page, "document.body.dataset.done")
    assert "46 distinct" in text_of(page, "report")


def test_a_model_in_the_browser_has_no_network(page: webdriver.Chrome) -> None:
    ask = "import js\nasked = js.XMLHttpRequest.new()\nasked.open('GET', 'http://127.0.0.1:9/', False)\nasked.send()\n"
    put(page, ask, LOCKS)
    press(page, "check")
    assert "lock_service cannot be imported" in text_of(page, "problem")
    logged = [line["message"] for line in page.get_log("browser")]
    assert logged and all("Content Security Policy" in line or "XMLHttpRequest" in line for line in logged)


@pytest.mark.parametrize(
    ("npm", "words"),
    [
        (None, "npm is missing, which fetches Python for browsers"),
        ("echo 'npm error code E404' >&2; exit 1", "npm has not fetched pyodide@"),
        ("echo x > pyodide-0.29.4.tgz", "npm has fetched another pyodide@"),
    ],
)
def test_python_for_browsers_that_cannot_be_had_is_one_message(
    npm: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = module()
    monkeypatch.setattr(built, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(built.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if npm else str(tmp_path))
    if npm:
        (tmp_path / "npm").write_text(f"#!/bin/sh\n{npm}\n")
        (tmp_path / "npm").chmod(0o755)
    with pytest.raises(built.BuildError, match=re.escape(words)):
        built.fetched()
    assert not list((tmp_path / "kept").glob("*.tgz"))


def test_a_folder_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [sys.executable, str(ROOT / "docs" / "playground" / "build.py"), str(tmp_path / "file" / "playground")]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr == f"playground: {tmp_path / 'file' / 'playground'}: Not a directory\n"
