"""A session in a terminal, with keys: `highwater explore SPEC --interactive`, `highwater trace FILE --interactive`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import DataTable, Footer, Static

from highwater.claims.positions import in_repository
from highwater.exploring.nodes import Choice
from highwater.exploring.opening import switched
from highwater.exploring.page import REFUSALS, rules_of, tree_rows
from highwater.exploring.saving import FORMATS, saved
from highwater.exploring.screens import Ask, Pick, Steps
from highwater.exploring.searching import Way
from highwater.exploring.session import Session, SessionError
from highwater.files import write_text
from highwater.viewer.comparison import Comparison
from highwater.viewer.lanes import lane_words, unbroken
from highwater.viewer.showing import shown_trace
from highwater.viewer.shown import ShownStep, ShownTrace
from highwater.visible import counted, visible


class Explorer(App[None]):
    """The branch on the left; on the right the state where one is, its properties, and what its step changed."""

    TITLE = "highwater"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #verdict { padding: 0 1; background: $boost; height: auto; max-height: 4; }
    #steps { width: 45%; } #detail { width: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        Binding("f", "take", "take a step"),
        Binding("d", "refused", "what is refused"),
        Binding("u", "undo", "undo"),
        Binding("t", "tree", "branches"),
        Binding("w", "way(True)", "way from here"),
        Binding("W", "way(False)", "way from the start", show=False),
        Binding("e", "watch", "watch"),
        Binding("r", "replay", "other rule"),
        Binding("m", "name", "name"),
        Binding("s", "save", "save"),
        Binding("slash", "search", "search"),
        Binding("n", "again", "next match", show=False),
        Binding("b", "back", "back", show=False),
        Binding("escape", "stop", "stop", show=False),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self._opened_at = session.at
        self._wanted = ""
        self._says = ""
        self._trace: ShownTrace

    def compose(self) -> ComposeResult:
        yield Static(id="verdict")
        with Horizontal():
            yield Steps(id="steps", cursor_type="row", zebra_stripes=True)
            with VerticalScroll(id="detail", can_focus=False):
                yield Static(id="state")
        yield Footer()

    def on_mount(self) -> None:
        self._show()
        self.query_one("#steps", Steps).focus()

    # Along the branch

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        path = self.session.tip.path
        if 0 <= event.cursor_row < len(path) and path[event.cursor_row] is not self.session.at:
            self.session.go(path[event.cursor_row].number)
            self._show_state()

    def action_along(self, by: int) -> None:
        last = len(self.session.tip.path) - 1
        self.query_one("#steps", Steps).move_cursor(row=max(0, min(last, self.session.at.depth + by)))

    def action_undo(self) -> None:
        self._do(self.session.undo)

    def action_back(self) -> None:  # type: ignore[override]  # textual awaits what is awaitable
        if self._opened_at in self.session.nodes:
            self._do(lambda: self.session.go(self._opened_at.number))

    def action_search(self) -> None:
        def search(text: str | None) -> None:
            self._wanted = (text or "").lower()
            self.action_again()

        self.push_screen(Ask("search steps"), search)

    def action_again(self) -> None:
        """Go to the next step that the search finds."""
        steps = self._trace.steps
        texts = [f"{s.name} {s.shown_arguments} {s.actor} {'; '.join(map(str, s.changes))}".lower() for s in steps]
        order = [(self.session.at.depth + by) % len(texts) for by in range(1, len(texts) + 1)]
        found = next((number for number in order if self._wanted and self._wanted in texts[number]), None)
        if found is None:
            self._say(f"no step has {self._wanted!r}" if self._wanted else "press / to search")
        else:
            self.query_one("#steps", Steps).move_cursor(row=found)

    # What can happen

    def action_take(self) -> None:
        """List what is enabled, with what it changes, and take one of these steps."""
        choices = [each for each in self.session.choices() if each.enabled]
        if not choices:
            cut = sorted({bound for each in self.session.choices() for bound in each.bounds})
            return self._say(
                "nothing is enabled here" + (f" within the bounds; {', '.join(cut)} cut what is" if cut else "")
            )
        names = [f"{each.action.actor}: {each.action}{'   (tried)' if each.tried else ''}" for each in choices]
        would = ["; ".join(map(str, each.changes)) or "changes nothing" for each in choices]
        self._pick(f"{len(names)} enabled", names, lambda at: self.session.take(choices[at].number), would)
        return None

    def action_refused(self) -> None:
        """List what is not enabled, with the guard that refuses it."""
        choices = [each for each in self.session.choices() if not each.enabled]
        names = [f"{each.action.actor}: {each.action}" for each in choices]
        self._pick(f"{len(names)} not enabled", names, lambda at: None, [_refused(each) for each in choices])

    def action_tree(self) -> None:
        """List the branches, and go to one."""
        rows = [row for root in self.session.roots for row in tree_rows(root)]
        names = ["  " * row.indent + row.words for row in rows]
        self._pick("what was tried", names, lambda at: self.session.go(rows[at].node.number))

    # Ways, other rules, names and files

    def action_way(self, from_here: bool) -> None:  # noqa: FBT001 - a binding gives arguments by position
        """Ask for a condition, an action or a property, and go to the nearest state of that kind."""
        start = "here" if from_here else "the start"

        def search(text: str | None) -> None:
            if text:
                self._say("searching; escape stops")
                self._find(text, from_here=from_here)

        self.push_screen(Ask(f"shortest way from {start} to where: a condition, an action, or a property"), search)

    def action_watch(self) -> None:
        """Ask for an expression, and show its value beside each step, or no more."""
        ask = Ask("watch an expression, or one that is watched no more: b1.log_end_offset - b0.high_watermark")
        self.push_screen(ask, lambda text: self._do(lambda: self.session.watch(text)) if text else None)

    @work(thread=True, exclusive=True)
    def _find(self, text: str, *, from_here: bool) -> None:
        try:
            found: Way | Exception = self.session.find(text, from_here=from_here)
        except REFUSALS as error:
            found = error
        self.call_from_thread(self._found, found)

    def _found(self, found: Way | Exception) -> None:
        self._says = str(found) if isinstance(found, Exception) else found.says
        self._say(self._says)
        self._show()

    def action_stop(self) -> None:
        self.session.cancelled.ask()
        self._say(self.session.cancelled.says)

    def action_replay(self) -> None:
        """Replay the steps under another rule or release, and go on under it if asked to."""
        rules = [(key, value) for key, values, now in rules_of(self.session) for value in values if value != now]
        names = [f"{key.removeprefix('protocol.')} {value}" for key, value in rules]

        def replay(at: int) -> None:
            rule = "=".join(rules[at])
            comparison, _, _ = self.session.compare([rule])
            self.push_screen(Pick(comparison.summary, ["go on under this rule", *_outcomes(comparison)]), go_on(rule))

        def go_on(rule: str) -> Callable[[int | None], None]:
            def chosen(at: int | None) -> None:
                if at == 0:
                    self._do(lambda: setattr(self, "session", switched(self.session, [rule])))

            return chosen

        self._pick("the same steps under", names, replay)

    def action_name(self) -> None:
        ask = Ask("name this branch", self.session.at.name)
        self.push_screen(ask, lambda text: None if text is None else self._do(lambda: self.session.name(text)))

    def action_save(self) -> None:
        """Save the branch in the current folder."""

        def save(at: int) -> None:
            name, text = saved(self.session, kinds[at])
            if Path(name).exists():
                raise SessionError(f"{name} is there already; name the branch")
            write_text(Path(name), text)
            self._say(f"wrote {name}")

        kinds = list(FORMATS)
        self._pick("save the branch as", kinds, save)

    # How it is shown

    def _do(self, verb: Callable[[], Any]) -> None:
        try:
            verb()
        except REFUSALS as error:
            self._say(str(error))
        self._show()

    def _say(self, text: str) -> None:
        self.notify(visible(text), markup=False)

    def _pick(self, title: str, names: Sequence[str], then: Callable[[int], Any], would: Sequence[str] = ()) -> None:
        self.push_screen(Pick(title, names, would), lambda at: None if at is None else self._do(lambda: then(at)))

    def _show(self) -> None:
        """Show the branch as it is now."""
        session, table = self.session, self.query_one("#steps", Steps)
        steps = [node.step for node in session.tip.path]
        self._trace = trace = shown_trace(session.system, steps, subject=session.subject)
        with self.prevent(DataTable.RowHighlighted):
            table.clear(columns=True)
            table.add_columns("", "who", "step", *(Text(visible(text)) for text in trace.watch))
            for step, node in zip(trace.steps, session.tip.path, strict=True):
                style = "red" if trace.false_after(step) else "magenta" if node.name else ""
                what = f"{step.name} {step.shown_arguments}".rstrip() or "initial state"
                name = f"  ({node.name})" if node.name else ""
                watched = (Text(visible(value)) for value in step.watched.values())
                table.add_row(
                    Text(str(step.number)), Text(visible(step.actor)), Text(visible(what + name), style), *watched
                )
            table.move_cursor(row=session.at.depth)
        self._show_state()

    def _show_state(self) -> None:
        session = self.session
        step = self._trace.steps[session.at.depth]
        judged = session.judged()
        false = next((each for each in judged if each.checked and each.holds is False), None)
        verdict = f"{false.name} is false: {false.why}" if false else f"{counted(len(session.nodes), 'state')} tried"
        self.query_one("#verdict", Static).update(Text(visible(f"{session.entry['name']}: {verdict}"), "bold"))
        text = _detail(step)
        for each in judged:
            if each.holds is not True:
                style = "dim" if each.holds is None else "bold red" if each.checked else "yellow"
                what = (
                    "not judged here"
                    if each.holds is None
                    else f"false: {each.why}"
                    if each.checked
                    else "not so, and not checked"
                )
                text.append(f"\n{visible(f'{each.name} {what}')}", style)
        holds = sum(each.holds is True for each in judged)
        text.append(f"\n{holds} properties hold here\n", "green")
        self.query_one("#state", Static).update(text)


def _refused(choice: Choice) -> str:
    if choice.refused is None:
        return f"cut by {', '.join(choice.bounds)}"
    return f"{choice.refused}  at {in_repository(Path(choice.refused.file))}:{choice.refused.line}"


def _outcomes(comparison: Comparison) -> list[str]:
    """A line per step, and how the states differ after the first that is not the same."""
    lines = []
    for number, row in enumerate(comparison.rows):
        what = f"{row.ours.name or 'initial state'} {row.ours.shown_arguments}".rstrip()
        lines.append(f"{number:>3}  {row.outcome.value:<14} {what}")
        lines += [f"         {difference}" for difference in row.differences if number == comparison.first]
    return lines


def _detail(step: ShownStep) -> Text:
    """A step and the state after it."""
    text = Text()
    text.append(f"step {step.number} {step.name} {visible(step.shown_arguments)}\n".replace("  ", " "), "bold")
    text.append(f"{step.meaning.line}\n")
    if step.meaning.source:
        text.append(f"{step.meaning.source}\n", "dim")
    for lane, cell in step.cells.items():
        words: Any = Text("  ").join(lane_words(cell, step, lane, coloured=True, everything=True))
        text.append(f"\n{visible(lane):<12}", "bold" if cell.changed else "dim").append_text(unbroken(words))
    for expression, value in step.watched.items():
        text.append(f"\n{visible(expression)}", "dim").append(f"  {visible(value)}", "bold")
    text.append("\n\n")
    for change in step.changes:
        text.append(f"  {visible(str(change))}\n", "green")
    return text
