"""Pages in a real browser: Debian's chromium, without a window, driven by chromedriver."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from highwater.claims.checking import check_spec
from highwater.claims.spec import load_spec
from highwater.reports.results import entry_of
from highwater.viewer.comparison import compare
from highwater.viewer.index import write_pages
from highwater.viewer.pages import IndexRow, compare_page, index_page, search_page, trace_page
from highwater.viewer.shown import Counterexample

SPECS = Path(__file__).parents[3] / "specs"
SOURCE = SPECS.parent / "model" / "reference" / "unfenced.py"
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
# where they must be, their lack is an error
THERE = bool(BROWSER and DRIVER) or os.environ.get("HIGHWATER_BROWSER") == "required"
pytestmark = pytest.mark.skipif(not THERE, reason="chromium and chromedriver are not installed")
PATIENCE = 300  # seconds; a machine may be busy, and nothing is measured here

Page = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1400,1000",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


WIDE = ("without_broker_epochs_an_emptied_replica_joins_the_isr", "a_restart_moves_leaders_for_ever")
MEASURED = """
const widths = of => [...document.querySelectorAll(of)].map(each => each.getBoundingClientRect().width).filter(w => w);
const heads = [...document.querySelectorAll('thead th.property span')];
return {
  lane: Math.max(...widths('.board tbody td:not(.property) > .lane')),
  value: Math.min(...widths('#panel .diff td')),
  cut: heads.filter(each => each.scrollHeight > each.clientHeight + 1).map(each => each.textContent),
  fits: !!document.querySelector('.scroll.fits'),
  shadow: getComputedStyle(document.querySelector('.board :not(.property) + .property')).boxShadow,
  panel: document.getElementById('panel').getBoundingClientRect().width,
};
"""


@pytest.fixture(scope="module")
def entry() -> dict[str, Any]:
    return entry_of(check_spec(load_spec(SPECS / "truncation" / "kip_101_fails_on_two_brokers.toml")))


@pytest.fixture(scope="module")
def files(
    tmp_path_factory: pytest.TempPathFactory,
    entry: dict[str, Any],
    long_trace: Counterexample,
    toy_trace: Counterexample,
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    wide = [entry_of(check_spec(load_spec(Path(f"gallery:{name}")))) for name in WIDE]
    write_pages(folder, [entry, *wide])
    named = {name: folder / f"{name}.html" for name in (entry["name"], *WIDE)}
    found = {"index": folder / "index.html", "kip_101": named[entry["name"]], **named}
    rows = [
        IndexRow(
            {
                **{key: entry[key] for key in ("verdict", "reason", "property", "trace_length", "mismatches")},
                "name": f"claim {number}",
                "file": f"specs/{'odd' if number % 2 else 'even'}/claim_{number}.toml",
                "status": "met" if number % 2 else "unmet",
                "distinct_states": 10 ** (5 - number),
                "depth": number,
                "seconds": float(number),
            }
        )
        for number in range(6)
    ]
    texts = {
        "many": index_page(rows),
        "long": trace_page(long_trace),
        "toy": trace_page(toy_trace),
        "explored": search_page({**entry, "verdict": "holds", "lines": {str(SOURCE): {35: 12, 36: 0, 37: 3}}}),
        "compare": compare_page(compare(entry, ["protocol.variant=kip-279"])),
    }
    for name, text in texts.items():
        found[name] = folder / f"made-{name}.html"
        found[name].write_text(text, encoding="utf-8")
    return found


@pytest.fixture
def page(chromium: webdriver.Chrome, files: dict[str, Path]) -> Iterator[Page]:
    """Opens a page at a width; afterwards nothing may have been complained of, and nothing loaded but the file
    itself.
    """

    def load(
        name: str, fragment: str = "", *, width: int = 1400, height: int = 1000, dark: bool = False, media: str = ""
    ) -> webdriver.Chrome:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features, "media": media})
        chromium.get("about:blank")
        chromium.get(files[name].as_uri() + fragment)
        return chromium

    yield load
    assert [entry for entry in chromium.get_log("browser") if entry["level"] != "DEBUG"] == []
    messages = (json.loads(entry["message"])["message"] for entry in chromium.get_log("performance"))
    urls = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert {url.partition(":")[0] for url in urls} <= {"file", "about", "data"}


def selected(browser: webdriver.Chrome) -> int:
    (row,) = browser.find_elements(By.CSS_SELECTOR, "tr[aria-selected=true]")
    return int(row.get_attribute("data-step"))


def press(browser: webdriver.Chrome, *keys: str) -> None:
    browser.switch_to.active_element.send_keys(*keys)


@pytest.mark.parametrize("name", ["kip_101", "long", "toy", "compare", "explored", "index", "many"])
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)], ids=["wide-light", "narrow-dark"])
def test_a_page_is_no_wider_than_the_window(page: Page, name: str, width: int, dark: bool) -> None:
    browser = page(name, width=width, dark=dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["kip_101", "compare"])
def test_keys_step_through(page: Page, name: str) -> None:
    browser = page(name)
    assert selected(browser) == 11
    for keys, step in (
        ([Keys.HOME], 0),
        ([Keys.ARROW_DOWN, Keys.ARROW_DOWN], 2),
        (["j"], 3),
        ([Keys.ARROW_UP], 2),
        (["k"], 1),
        ([Keys.ARROW_UP, Keys.ARROW_UP], 0),
        ([Keys.END], 11),
        ([Keys.ARROW_DOWN], 11),
    ):
        press(browser, *keys)
        assert selected(browser) == step
        assert browser.execute_script("return location.hash") == f"#step={step}"
        assert browser.switch_to.active_element.get_attribute("data-step") == str(step)


def test_keys_step_along_a_lane(page: Page) -> None:
    browser = page("kip_101", "#step=4")
    for key, step in (("n", 5), ("n", 8), ("n", 8), ("p", 5), ("p", 4), ("p", 4)):
        press(browser, key)
        assert selected(browser) == step


@pytest.mark.parametrize(
    ("fragment", "step"), [("#step=0", 0), ("#step=7", 7), ("#step=999", 11), ("#step=x", 11), ("#<b>", 11), ("", 11)]
)
def test_a_permalink_selects_its_step(page: Page, fragment: str, step: int) -> None:
    browser = page("kip_101", fragment)
    assert selected(browser) == step
    (details,) = [d for d in browser.find_elements(By.CSS_SELECTOR, "#panel > section") if d.is_displayed()]
    assert details.find_element(By.TAG_NAME, "h2").text.startswith(f"Step {step}")


def test_a_link_to_a_step_selects_it(page: Page) -> None:
    browser = page("kip_101")
    browser.find_element(By.CSS_SELECTOR, ".looked a[href='#step=5']").click()
    # browsers tell of a new fragment when they have time
    WebDriverWait(browser, PATIENCE).until(lambda browser: selected(browser) == 5)


def test_a_step_far_away_is_scrolled_to(page: Page) -> None:
    browser = page("long", "#step=40")
    row = "const r = document.getElementById('row-40').getBoundingClientRect();"
    assert browser.execute_script(f"{row} return r.top >= 0 && r.bottom <= innerHeight")


def test_a_click_selects_a_step(page: Page) -> None:
    browser = page("kip_101", "#step=0")
    browser.find_element(By.CSS_SELECTOR, "#row-2 th").click()
    assert selected(browser) == 2


def test_search_marks_what_it_finds_and_enter_goes_through_it(page: Page) -> None:
    browser = page("kip_101", "#step=0")
    press(browser, "/")
    box = browser.switch_to.active_element
    assert box.get_attribute("id") == "search"
    box.send_keys("advance_high")
    assert browser.find_element(By.ID, "found").text == "1 found"
    assert [row.get_attribute("data-step") for row in browser.find_elements(By.CSS_SELECTOR, "tr.match")] == ["8"]
    box.send_keys(Keys.ENTER)
    assert selected(browser) == 8
    box.clear()
    box.send_keys("presumed leader appends")  # the meaning of the two writes
    box.send_keys(Keys.ENTER)
    assert selected(browser) == 10
    box.send_keys(Keys.ENTER)
    assert selected(browser) == 5
    box.send_keys(Keys.ESCAPE)
    assert browser.find_elements(By.CSS_SELECTOR, "tr.match") == []
    assert browser.switch_to.active_element.get_attribute("data-step") == "5"


def test_search_finds_claims_in_the_index(page: Page) -> None:
    browser = page("index")
    press(browser, "/")
    press(browser, "nothing like that")
    assert browser.find_element(By.ID, "found").text == "0 found"


def seen(browser: webdriver.Chrome, selector: str) -> list[Any]:
    return [each for each in browser.find_elements(By.CSS_SELECTOR, selector) if each.is_displayed()]


def test_rows_of_the_index_that_do_not_match_go_away_and_so_do_their_folders(page: Page) -> None:
    browser = page("many")
    assert (len(seen(browser, "tr[data-row]")), len(seen(browser, "tr.group"))) == (6, 2)
    press(browser, "/")
    press(browser, "claim 4")
    assert [row.get_attribute("data-claim") for row in seen(browser, "tr[data-row]")] == ["claim 4"]
    assert [row.text for row in seen(browser, "tr.group")] == ["specs/even 3, 3 unmet"]
    press(browser, Keys.ESCAPE)
    assert len(seen(browser, "tr[data-row]")) == 6


def test_the_index_sorts_by_any_column_and_back_to_folders(page: Page) -> None:
    browser = page("many")

    def order() -> list[str]:
        return [row.get_attribute("data-claim")[-1] for row in seen(browser, "tr[data-row]")]

    assert order() == ["0", "2", "4", "1", "3", "5"]
    for column, rising in (("states", "543210"), ("claim", "012345"), ("seconds", "012345"), ("status", "135024")):
        button = browser.find_element(By.CSS_SELECTOR, f"[data-sort={column}]")
        button.click()
        assert "".join(order()) == rising
        assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
        assert seen(browser, "tr.group") == []
        button.click()
        assert order()[0] == rising[-1] or column == "status"
        button.click()
        assert order() == ["0", "2", "4", "1", "3", "5"]
    browser.find_element(By.CSS_SELECTOR, "tr.group button").click()
    assert order() == ["1", "3", "5"]


def test_the_index_can_be_sorted_on_a_phone(page: Page) -> None:
    browser = page("many", width=390, height=844)
    browser.find_element(By.CSS_SELECTOR, "#sort option[value=states]").click()
    assert [row.get_attribute("data-claim")[-1] for row in seen(browser, "tr[data-row]")] == list("543210")


def test_fields_are_hidden_and_watched_and_the_address_keeps_it(page: Page) -> None:
    browser = page("kip_101", "#step=7")
    browser.find_element(By.CSS_SELECTOR, ".view summary").click()
    assert seen(browser, "#row-0 .log")
    browser.find_element(By.CSS_SELECTOR, "[data-show=log] option[value=hide]").click()
    assert not seen(browser, "#board .log")
    assert not seen(browser, "#row-9 td[data-name=b0] .badge")
    browser.find_element(By.CSS_SELECTOR, "[data-show=role] option[value=watch]").click()
    assert [each.text for each in seen(browser, "#row-9 td[data-name=b0] > .lane > *")] == ["leads e0"]
    fragment = browser.execute_script("return location.hash")
    assert fragment == "#step=7&hide=log&watch=role"
    browser = page("kip_101", fragment)
    assert selected(browser) == 7
    assert not seen(browser, "#board .log")
    assert seen(browser, "#row-9 td[data-name=b0] .badge")


def test_changes_only_leaves_what_a_step_changed(page: Page) -> None:
    browser = page("kip_101", "#step=0")
    assert len(seen(browser, "#row-5 td[data-name=b0] .lane > *")) == 3
    browser.find_element(By.CSS_SELECTOR, ".view summary").click()
    browser.find_element(By.ID, "terse").click()
    assert [each.tag_name for each in seen(browser, "#row-5 td[data-name=b0] .lane > *")] == ["ol"]


def test_a_lane_folds_by_a_click_on_its_name(page: Page) -> None:
    browser = page("long", "#step=0")
    wide = browser.find_element(By.CSS_SELECTOR, "thead th[data-name=b3]").rect["width"]
    browser.find_element(By.CSS_SELECTOR, "[data-fold=b3]").click()
    head = browser.find_element(By.CSS_SELECTOR, "thead th[data-name=b3]")
    assert head.rect["width"] < wide / 3
    assert not seen(browser, "td[data-name=b3] .lane")
    assert browser.execute_script("return location.hash") == "#step=0&fold=b3"
    head.find_element(By.TAG_NAME, "button").click()
    assert seen(browser, "#row-0 td[data-name=b3] .lane")


THROUGH_TEXT = """
const found = [];
for (const group of document.querySelectorAll("#arrows > g"))
  for (const path of group.querySelectorAll("path")) {
    const box = document.getElementById("arrows").getBoundingClientRect();
    for (let at = 0; at < path.getTotalLength(); at += 7) {
      const point = path.getPointAtLength(at);
      const [x, y] = [point.x + box.left, point.y + box.top];
      if (x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue;
      const top = document.elementFromPoint(x, y);
      const shown = top?.closest(".lane > *, .message");
      if (shown && getComputedStyle(shown).backgroundColor === "rgba(0, 0, 0, 0)")
        found.push([x, y, top.textContent]);
    }
  }
return found;
"""


@pytest.mark.parametrize("name", ["toy", "kip_101", "compare"])
def test_arrows_begin_and_end_at_lifelines_and_pass_behind_text(page: Page, name: str) -> None:
    browser = page(name, height=3000)
    for arrow in drawn(browser):
        start, cell = arrow["start"], arrow["from"]
        assert abs(start["x"] + start["width"] / 2 - (cell["x"] + 9)) <= 1.5
        assert cell["y"] <= start["y"] <= cell["y"] + cell["height"]
    assert browser.execute_script(THROUGH_TEXT) == []


@pytest.mark.parametrize("name", ["long", "kip_101"])
def test_the_property_columns_are_in_sight_at_1400_pixels(page: Page, name: str) -> None:
    browser = page(name)
    for head in browser.find_elements(By.CSS_SELECTOR, "thead th.property"):
        box = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", head)
        panel = browser.execute_script("return document.getElementById('panel').getBoundingClientRect().left")
        assert 0 < box["left"] < box["right"] <= panel


@pytest.mark.parametrize("width", [1400, 1280, 1024])
@pytest.mark.parametrize("name", WIDE)
def test_a_page_of_many_lanes_hides_nothing_without_a_sign(page: Page, name: str, width: int) -> None:
    browser = page(name, "#step=8", width=width)
    found = browser.execute_script(MEASURED)
    assert found["lane"] <= 22 * 16, "no lane takes the room of the others"
    assert found["value"] >= 60, "a value is not written one letter a line"
    assert found["cut"] == [], "names of properties can be read"
    assert found["fits"] or found["shadow"] != "none", "there is more to the right"
    assert (found["panel"] > width / 2) is (width < 1200), "below the board where there is no room"


def test_a_strip_of_all_steps_leads_through_a_long_trace(page: Page, long_trace: Counterexample) -> None:
    browser = page("long", "#step=2")
    strip = browser.find_elements(By.CSS_SELECTOR, "[data-strip]")
    assert len(strip) == len(long_trace.steps)
    strip[45].click()
    WebDriverWait(browser, PATIENCE).until(lambda browser: selected(browser) == 45)
    row = "const r = document.getElementById('row-45').getBoundingClientRect();"
    assert browser.execute_script(f"{row} return r.top >= 0 && r.bottom <= innerHeight")
    assert browser.execute_script("return document.querySelector('.strip').getBoundingClientRect().top") >= 0


def test_a_comparison_has_a_legend_and_the_arrows_of_both_sides(page: Page) -> None:
    browser = page("compare")
    data = json.loads(browser.find_element(By.ID, "data").get_attribute("textContent"))
    assert {arrow["side"] for arrow in data["arrows"]} == {0, 1}
    browser.find_element(By.CSS_SELECTOR, ".keys summary").click()
    (legend,) = [each for each in seen(browser, ".keys") if "not enabled" in each.text]
    assert "red line is above the first difference" in legend.text


def test_causes_dim_what_the_selected_step_does_not_depend_on(page: Page) -> None:
    browser = page("kip_101", "#step=7")
    press(browser, "c")
    causes = [int(row.get_attribute("data-step")) for row in browser.find_elements(By.CSS_SELECTOR, "tr.cause")]
    assert causes == [1, 2, 3, 4, 5, 6, 7]
    faded = browser.execute_script("return getComputedStyle(document.querySelector('#row-9 > td')).opacity")
    assert float(faded) < 0.5
    press(browser, "c")
    assert browser.execute_script("return getComputedStyle(document.querySelector('#row-9 > td')).opacity") == "1"


DRAWN = """
const done = arguments[0];
const data = JSON.parse(document.getElementById("data").textContent);
const box = (of, within = document) => within.querySelector(of)?.getBoundingClientRect().toJSON();
const cell = (step, side, name) => box(`#row-${step} td[data-side='${side}'][data-name='${name}']`);
const measure = () => {
  const groups = [...document.querySelectorAll("#arrows > g")];
  if (groups.length !== data.arrows.length) return done([]);
  done(data.arrows.map((arrow, number) => ({
    ...arrow,
    classes: [...groups[number].classList],
    start: box(".start", groups[number]),
    tip: box("polygon", groups[number]),
    from: cell(arrow.sent, arrow.side, arrow.sender),
    to: cell(arrow.ended, arrow.side, arrow.reader),
  })));
};
document.fonts.ready.then(() => requestAnimationFrame(() => requestAnimationFrame(measure)));
"""


def drawn(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    """The arrows of a page with their boxes and those of their cells, in pixels. They are measured at once, when
    nothing waits to be drawn: a page draws its arrows anew whenever its rows move.
    """
    browser.set_script_timeout(PATIENCE)
    arrows = browser.execute_async_script(DRAWN)
    assert len(arrows) > 2
    return arrows


def test_messages_are_arrows_that_end_in_the_row_and_lane_of_their_reader(page: Page) -> None:
    for arrow in drawn(page("toy")):
        assert arrow["delivery"] in arrow["classes"]
        if arrow["delivery"] == "read":
            tip, cell = arrow["tip"], arrow["to"]
            assert cell["y"] <= tip["y"] <= cell["y"] + cell["height"]
            assert cell["x"] - 12 <= tip["x"] <= cell["x"] + cell["width"]


def test_lost_messages_are_crossed_out(page: Page) -> None:
    browser = page("long")
    data = json.loads(browser.find_element(By.ID, "data").get_attribute("textContent"))
    lost = sum(arrow["delivery"] == "dropped" for arrow in data["arrows"])
    assert lost > 0
    assert len(browser.find_elements(By.CSS_SELECTOR, "#arrows > g.dropped")) == lost
    assert not browser.find_elements(By.CSS_SELECTOR, "#arrows > g.dropped polygon")


def test_the_theme_can_be_chosen(page: Page) -> None:
    browser = page("kip_101")

    def paper() -> str:
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    light = paper()
    button = browser.find_element(By.ID, "theme")
    button.click()
    assert (button.text, paper()) == ("theme: light", light)
    button.click()
    assert button.text == "theme: dark"
    assert paper() != light
    button.click()
    assert (button.text, paper()) == ("theme: system", light)


def test_the_systems_dark_mode_is_followed(page: Page) -> None:
    papers = {
        page("kip_101", dark=dark).execute_script("return getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    }
    assert len(papers) == 2


CONTRAST = """
const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const shade = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).map((v) => linear(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
  for (; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return getComputedStyle(document.body).backgroundColor;
};
const bad = [];
let looked = 0;
for (const e of document.querySelectorAll(ELEMENTS)) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
  if (e.closest(".hidden, .gone, .idle, .ghost, .empty")) continue;
  looked += 1;
  const [a, b] = [shade(getComputedStyle(e).color), shade(behind(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5)
    bad.push([e.className, e.textContent.trim().slice(0, 30), getComputedStyle(e).color, behind(e)]);
}
return [looked, bad];
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["kip_101", "compare", "index"])
def test_text_stands_out_from_what_is_behind_it(page: Page, name: str, dark: bool) -> None:
    looked, bad = page(name, dark=dark).execute_script(CONTRAST.replace("ELEMENTS", json.dumps("body *")))
    assert looked > 15
    assert bad == []


def test_records_stand_out_from_their_leader_epochs_colour(page: Page) -> None:
    for dark in (False, True):
        looked, bad = page("kip_101", dark=dark).execute_script(CONTRAST.replace("ELEMENTS", json.dumps(".slot *")))
        assert looked > 10
        assert bad == []


def test_every_control_has_a_name_and_rows_their_roles(page: Page) -> None:
    browser = page("kip_101")
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nodes = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n.get("ignored")]
    controls = [
        (role, name)
        for role, name in nodes
        if role in ("button", "searchbox", "link", "grid", "toolbar", "complementary", "list")
    ]
    assert all(name for role, name in controls if role != "list"), controls
    # lane names and twelve steps; the changes of the selected one
    assert sum(role == "row" for role, _ in nodes) == 13 + 3
    logs = [name for role, name in nodes if role == "list" and name.startswith("log: ")]
    assert any("offset 0 r0 epoch 0 committed" in name for name in logs)


def test_a_phone_shows_only_lanes_that_changed_and_a_step_on_request(page: Page) -> None:
    browser = page("kip_101", width=390, height=844)
    assert not browser.find_element(By.ID, "panel").is_displayed()
    shown = [
        td.get_attribute("data-name")
        for td in browser.find_elements(By.CSS_SELECTOR, "#row-5 td[data-name]")
        if td.is_displayed()
    ]
    assert shown == ["b0"]
    browser.find_element(By.CSS_SELECTOR, "#row-5 .action").click()
    assert browser.find_element(By.ID, "panel").is_displayed()
    browser.find_element(By.ID, "close").click()
    assert not browser.find_element(By.ID, "panel").is_displayed()


def test_in_print_there_are_the_steps_and_no_controls(page: Page) -> None:
    browser = page("kip_101", media="print")
    assert not browser.find_element(By.ID, "search").is_displayed()
    assert not browser.find_element(By.ID, "panel").is_displayed()
    assert len([row for row in browser.find_elements(By.CSS_SELECTOR, "tr[data-step]") if row.is_displayed()]) == 12


def test_a_comparison_marks_its_first_difference(page: Page) -> None:
    browser = page("compare")
    browser.find_element(By.ID, "first").click()
    assert selected(browser) == 11
    (row,) = browser.find_elements(By.CSS_SELECTOR, "tr.first")
    assert row.get_attribute("data-step") == "11"
    (details,) = [d for d in browser.find_elements(By.CSS_SELECTOR, ".differences > div") if d.is_displayed()]
    assert "b1.log: [] here, [r0@e0] there" in details.text


def test_a_comparison_opens_at_its_first_difference_without_lanes_that_are_alike(page: Page) -> None:
    browser = page("compare", width=1000)
    assert selected(browser) == 11
    folded = {th.get_attribute("data-name") for th in browser.find_elements(By.CSS_SELECTOR, "thead th.folded")}
    assert folded == {"controller", "b0"}, "only b1 ever differs"
    browser.find_element(By.CSS_SELECTOR, "[data-fold=b0]").click()
    folded = {th.get_attribute("data-name") for th in browser.find_elements(By.CSS_SELECTOR, "thead th.folded")}
    assert folded == {"controller"}


def test_a_phone_shows_both_sides_of_a_comparison_beside_each_other(page: Page) -> None:
    browser = page("compare", width=390, height=844)
    places = browser.execute_script(
        "return [...document.querySelectorAll('#row-11 > td')].map(td => td.getBoundingClientRect())"
        ".filter(box => box.width).map(box => [Math.round(box.left), Math.round(box.right), box.top])"
    )
    left, right = places[0], places[-1]
    assert left[1] <= right[0] + 1 and left[0] >= 0 and right[1] <= 390
    assert any(a[2] == b[2] for a in places for b in places if a[0] < b[0]), "in one row"
    words = [each.text for each in seen(browser, "#row-11 .lanename")]
    assert "variant kip-101: b1" in words and "variant kip-279: b1" in words


def test_a_page_of_sixty_steps_and_five_brokers_shows_all_of_it(page: Page, long_trace: Counterexample) -> None:
    browser = page("long")
    rows = browser.find_elements(By.CSS_SELECTOR, "tr[data-step]")
    assert len(rows) == len(long_trace.steps) > 60
    press(browser, Keys.HOME)
    heads = [th.text for th in browser.find_elements(By.CSS_SELECTOR, "thead th") if th.is_displayed()]
    assert [head.split()[0] for head in heads[:7]] == ["step", "controller", "b0", "b1", "b2", "b3", "b4"]
    press(browser, Keys.END)
    top = browser.execute_script("return document.querySelector('thead th').getBoundingClientRect().bottom")
    row = browser.execute_script("return document.querySelector('tr.last').getBoundingClientRect().top")
    assert 0 < top <= row  # lane names stay in sight
