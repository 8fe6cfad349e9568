"""The page that is served: to whom, what its verbs do, how it ends, and how it behaves in a real browser."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from highwater.exploring.saving import saved
from highwater.exploring.session import Session

pytest.importorskip("werkzeug", reason="the page needs werkzeug")

from werkzeug.test import Client

from highwater.exploring.serving import Site

ROOT = Path(__file__).parents[3]
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
THERE = bool(BROWSER and DRIVER) or os.environ.get("HIGHWATER_BROWSER") == "required"
PATIENCE = 300  # seconds; a machine may be busy, and nothing is measured here

Run = Callable[..., Result]


@pytest.fixture
def site(session: Session) -> Site:
    site = Site(session)
    site.hosts = frozenset({"127.0.0.1:8000"})
    return site


def ask(site: Site, path: str = "/", *, token: str | None = None, host: str = "127.0.0.1:8000", **more: Any) -> Any:
    query = {"token": site.token if token is None else token, **more.pop("query", {})}
    return Client(site).open(path, base_url=f"http://{host}", query_string=query, **more)


def do(site: Site, **verb: Any) -> Any:
    return ask(site, "/do", method="POST", json=verb)


@pytest.mark.parametrize("path", ["/", "/do", "/save", "/compare", "/stop", "/nothing"])
def test_requests_without_the_token_or_to_another_host_are_refused(site: Site, path: str) -> None:
    for method in ("GET", "POST"):
        for refused in (
            {"token": ""},
            {"token": site.token[:-1]},
            {"token": "ü"},
            {"host": "evil.example:8000"},
            {"host": "127.0.0.1:8001"},
        ):
            answer = ask(site, path, method=method, **refused)
            assert answer.status_code == 403
            assert site.token not in answer.text
    assert len(site.session.nodes) == 1


def test_the_page_loads_nothing_from_elsewhere_and_may_not_be_framed(site: Site) -> None:
    answer = ask(site)
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.text
    assert "connect-src 'self'" in answer.text
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("body", ["[" * 90_000, '{"verb":' * 11_000], ids=["arrays", "objects"])
def test_a_body_that_is_nested_too_deeply_is_refused(site: Site, body: str) -> None:
    answer = ask(site, "/do", method="POST", data=body, content_type="application/json")
    assert (answer.status_code, answer.text) == (400, "the request is nested too deeply")
    assert do(site, verb="take", action=0).status_code == 200


def test_verbs_do_what_the_session_does(site: Site) -> None:
    assert do(site, verb="take", action=0).status_code == 200
    assert site.session.at.depth == 1
    assert "After step 1" in do(site, verb="name", name="<b>first</b>").text
    assert "<b>first</b>" not in ask(site).text
    assert do(site, verb="undo").status_code == 200
    assert "here already" in do(site, verb="find", what="len(b0.log) == 0", **{"from": "here"}).text
    assert (
        "Every step is the same with variant kip-320" in do(site, verb="compare", rule="protocol.variant=kip-320").text
    )
    assert ask(site, "/compare", query={"rule": "protocol.variant=kip-320"}).status_code == 200
    assert "variant kip-320" in do(site, verb="switch", rule="protocol.variant=kip-320").text
    assert ask(site, "/stop", method="POST").text == "no search is running"


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ({"verb": "undo"}, "nothing to undo"),
        ({"verb": "take", "action": 999}, "there is no action 999"),
        ({"verb": "take", "action": "0"}, "there is no such verb"),
        ({"verb": "go", "node": -1}, "there is no state -1"),
        ({"verb": "find", "what": "open('x')", "from": "here"}, "open cannot be called"),
        ({"verb": "compare", "rule": "protocol.variant=none"}, "allowed are"),
        ({"verb": "switch", "rule": ""}, "is not KEY=VALUE"),
        ({"verb": "fly"}, "there is no such verb"),
        ({}, "there is no such verb"),
    ],
)
def test_an_impossible_verb_is_refused_in_one_line_and_changes_nothing(
    site: Site, verb: dict[str, Any], words: str
) -> None:
    answer = do(site, **verb)
    assert (answer.status_code, "\n" in answer.text) == (409, False)
    assert words in answer.text
    assert len(site.session.nodes) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"x" * 200_000])
def test_a_damaged_request_is_refused(site: Site, body: bytes) -> None:
    answer = ask(site, "/do", method="POST", data=body, content_type="application/json")
    assert 400 <= answer.status_code < 500


def test_branches_are_downloaded(site: Site) -> None:
    do(site, verb="take", action=0)
    for kind, ending in (("trace", ".json"), ("test", ".py"), ("page", ".html")):
        answer = ask(site, "/save", query={"as": kind})
        assert answer.headers["Content-Disposition"].endswith(f'{ending}"')
    assert ask(site, "/save", query={"as": "spec"}).status_code == 409
    assert ask(site, "/save", query={"as": "poem"}).status_code == 409


# --- the command


@pytest.fixture
def report(violated: Session, tmp_path: Path) -> Path:
    name, text = saved(violated, "trace")
    (tmp_path / name).write_text(text)
    return tmp_path / name


@contextmanager
def started(command: list[Any]) -> Iterator[subprocess.Popen[str]]:
    """A process that ends with the test, whatever it waits for."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_the_command_serves_until_ctrl_c_and_leaves_nothing_behind(report: Path) -> None:
    command = [sys.executable, "-u", "-m", "highwater", "explore", report, "--step", "4"]
    with started(command) as process:
        assert process.stdout.readline().startswith("explore kip_101_fails_on_two_brokers")
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert process.stdout.readline() == "Ctrl-C ends it.\n"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            assert "After step 4" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(address.partition("?")[0], timeout=PATIENCE)
        assert caught.value.code == 403
        port = int(address.split(":")[2].partition("/")[0])
        others = {each[4][0] for each in socket.getaddrinfo(socket.gethostname(), None)} - {
            "127.0.0.1",
            "127.0.1.1",
            "::1",
        }
        for host in others:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as other:
                assert other.connect_ex((host, port)) != 0
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.toml"], "nothing.toml: No such file"),
        (["nothing.json"], "nothing.json: No such file"),
        ([ROOT / "README.md"], "is not TOML"),
        ([ROOT / "specs" / "README.md", "--step", "2"], "is a spec; --spec and --step choose in a report"),
        (["SPEC", "--interactive"], "--interactive needs a terminal"),
        (["SPEC", "--interactive", "--port", "80"], "--port and --open are for the page"),
    ],
    ids=range(6),
)
def test_an_unexplorable_argument_is_refused_in_one_line(
    highwater: Run, spec_path: Path, arguments: list[Any], words: str
) -> None:
    result = highwater("explore", *(spec_path if each == "SPEC" else each for each in arguments))
    assert result.exit_code == 2
    assert words in result.stderr


def test_a_port_that_is_taken_is_one_line(highwater: Run, spec_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        result = highwater("explore", spec_path, "--port", other.getsockname()[1])
    assert result.exit_code == 2
    assert "is taken on 127.0.0.1" in result.stderr


# --- in a browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    if not THERE:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium: webdriver.Chrome, violated: Session) -> Iterator[Callable[..., webdriver.Chrome]]:
    """Serves the counterexample of KIP-101 and opens its page; afterwards nothing may have been complained of."""
    site = Site(violated)
    server = site.listen()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def load(width: int = 1400, height: int = 1000, *, dark: bool = False) -> webdriver.Chrome:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        chromium.get(f"http://127.0.0.1:{server.port}/?token={site.token}")
        return chromium

    load.site = site
    yield load
    chromium.get("about:blank")
    server.shutdown()
    thread.join()
    server.server_close()
    complaints = [entry["message"] for entry in chromium.get_log("browser") if entry["level"] != "DEBUG"]
    assert [each for each in complaints if "409" not in each] == []


def until_done(browser: webdriver.Chrome, act: Callable[[], Any]) -> None:
    """Do something, and wait until the page shows what came of it."""
    done = "return Number(document.body.dataset.done || 0)"
    before = browser.execute_script(done)
    act()
    WebDriverWait(browser, PATIENCE).until(lambda browser: browser.execute_script(done) > before)


def heading(browser: webdriver.Chrome) -> str:
    return browser.find_element(By.CSS_SELECTOR, "#panel h2").text


def click(browser: webdriver.Chrome, selector: str) -> None:
    element = browser.find_element(By.CSS_SELECTOR, selector)
    until_done(browser, lambda: browser.execute_script("arguments[0].click()", element))


def test_one_walks_back_takes_another_step_and_sees_a_tree(page: Any) -> None:
    browser = page()
    assert heading(browser) == "After step 11"
    assert len(browser.find_elements(By.CSS_SELECTOR, "tr[data-step]")) == 12
    until_done(browser, lambda: browser.switch_to.active_element.send_keys("u"))
    assert heading(browser) == "After step 10"
    click(browser, "#row-7 .action")
    assert heading(browser) == "After step 7"
    click(browser, ".take[data-action='18']")  # write(leader b0)
    assert heading(browser) == "After step 8"
    assert page.site.session.at.depth == 8
    assert len(browser.find_elements(By.CSS_SELECTOR, "tr[data-step]")) == 9
    branches = [each.text for each in browser.find_elements(By.CSS_SELECTOR, ".tree button")]
    assert len(branches) == 3
    assert branches[2] == "step 8: write(leader b0)"
    click(browser, ".tree li:nth-child(2) button")
    assert heading(browser) == "After step 11"


def test_hovering_shows_the_changes_of_a_step_and_refused_actions_show_guards(page: Any) -> None:
    browser = page()
    # without a mouse, what a step would change stands below it anyway
    would = browser.find_element(By.CSS_SELECTOR, ".take[data-action='24'] + .would")  # fetch(follower b1, leader b0)
    ActionChains(browser).move_to_element(browser.find_element(By.CSS_SELECTOR, ".take[data-action='24']")).perform()
    WebDriverWait(browser, PATIENCE).until(lambda browser: would.is_displayed())
    assert "b1.high_watermark" in would.text
    browser.find_element(By.CSS_SELECTOR, "#refused summary").click()
    guards = browser.find_element(By.ID, "refused").text
    assert "not cluster.presumes_leadership(leader)" in guards
    assert "model/reference/unfenced.py:" in guards
    browser.find_element(By.CSS_SELECTOR, "#cut summary").click()
    assert "leader_epoch_max" in browser.find_element(By.ID, "cut").text


def test_a_search_goes_to_the_nearest_state_and_a_wrong_one_gives_the_reason(page: Any) -> None:
    browser = page()
    click(browser, "#row-0 .action")
    box = browser.find_element(By.ID, "what")
    box.send_keys("b1.leader == b1 and len(b1.log) < len(b0.log)")
    click(browser, "button[value=here]")
    assert browser.find_element(By.ID, "said").text.endswith("5 steps away")
    assert heading(browser) == "After step 5"
    box = browser.find_element(By.ID, "what")
    box.clear()
    box.send_keys("__import__('os')", Keys.ENTER)
    problem = browser.find_element(By.ID, "problem")
    WebDriverWait(browser, PATIENCE).until(lambda browser: problem.is_displayed())
    assert "__import__ cannot be called" in problem.text
    assert heading(browser) == "After step 5"


def test_properties_stand_beside_each_state(page: Any) -> None:
    browser = page()
    (false,) = browser.find_elements(By.CSS_SELECTOR, ".judged .false")
    assert "strong_isr" in false.text.replace("\n", "")
    click(browser, "#row-0 .action")
    assert browser.find_elements(By.CSS_SELECTOR, ".judged .false") == []
    (unasked,) = browser.find_elements(By.CSS_SELECTOR, ".judged .unasked")
    assert "not checked" in unasked.text


def test_the_same_steps_are_replayed_under_another_rule_and_one_goes_on_there(page: Any) -> None:
    browser = page()
    browser.find_element(By.CSS_SELECTOR, "#rule option[value='protocol.variant=kip-279']").click()
    click(browser, "form[data-verb=compare] button")
    assert browser.find_element(By.ID, "summary").get_attribute("data-first") == "11"
    assert browser.find_element(By.CSS_SELECTOR, ".outcomes .first .outcome").text == "differs"
    click(browser, "button[data-verb=switch]")
    assert "variant kip-279" in browser.find_element(By.CSS_SELECTOR, "#session > .crumb").text
    assert browser.find_elements(By.CSS_SELECTOR, ".judged .false") == []


def test_a_branch_is_named_and_a_spec_of_nothing_is_refused(page: Any) -> None:
    browser = page()
    browser.find_element(By.ID, "name").send_keys("records are lost")
    click(browser, "form[data-verb=name] button")
    assert "records are lost" in heading(browser)
    click(browser, "#row-3 .action")
    browser.find_element(By.CSS_SELECTOR, "[data-save=spec]").click()
    problem = browser.find_element(By.ID, "problem")
    WebDriverWait(browser, PATIENCE).until(lambda browser: problem.is_displayed())
    assert "no property is false here" in problem.text


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_phone_shows_all_of_it_in_its_width(page: Any, dark: bool) -> None:
    browser = page(390, 844, dark=dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.find_element(By.ID, "panel").is_displayed()
    assert browser.find_element(By.CSS_SELECTOR, ".would").is_displayed()


def test_a_counterexamples_page_shows_the_command_that_opens_it(
    chromium: webdriver.Chrome, report: Path, highwater: Run
) -> None:
    page = report.with_name("another name.html")
    assert highwater("trace", report, "--html", page).exit_code == 0
    chromium.get(page.as_uri())
    assert chromium.find_element(By.ID, "explore").text == "highwater explore 'another name.html'"
