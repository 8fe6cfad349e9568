"""A counterexample step by step with keys, and what else could have happened: `highwater trace --interactive`."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, OptionList, Static
from textual.widgets.option_list import Option

from explorer.system import Cut, successor
from explorer.verdict import Step
from highwater.viewer.lanes import lane_words, unbroken
from highwater.viewer.showing import shown_trace
from highwater.viewer.shown import Counterexample, ShownStep, ShownTrace
from highwater.visible import visible


class Choice(ModalScreen[int | None]):
    """What can happen after a step."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss(None)", "back")]
    CSS = "Choice { align: center middle; } OptionList { width: 90%; height: 80%; border: round $accent; }"

    def __init__(self, title: str, actions: list[str]) -> None:
        super().__init__()
        self._title, self._actions = title, actions

    def compose(self) -> ComposeResult:
        options = OptionList(*(Option(Text(action)) for action in self._actions))
        options.border_title = self._title
        yield options

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


class Steps(DataTable):
    """The table of steps. In a table, Home and End would move between columns."""

    BINDINGS: ClassVar = [
        Binding("home", "app.go(0)", "first"),
        Binding("end", "app.go(-1)", "last"),
        Binding("j", "cursor_down", "next"),
        Binding("k", "cursor_up", "previous"),
    ]


class Explorer(App[None]):
    """The steps on the left; on the right the selected one and the state after it. A fork replaces the steps
    behind it.
    """

    TITLE = "highwater"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #verdict { padding: 0 1; background: $boost; height: auto; max-height: 4; }
    #steps { width: 45%; } #detail { width: 1fr; padding: 0 1; }
    #search { display: none; dock: bottom; } #search.open { display: block; }
    """
    BINDINGS: ClassVar = [
        Binding("slash", "search", "search"),
        Binding("n", "find(1)", "next match"),
        Binding("f", "fork", "fork"),
        Binding("b", "back", "back to the counterexample"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(self, counterexample: Counterexample) -> None:
        super().__init__()
        self._counterexample = counterexample
        self._wanted = ""
        self.trace: list[Step] = list(counterexample.violation.trace)
        self.forked_at: int | None = None
        self.shown: ShownTrace = counterexample

    def compose(self) -> ComposeResult:
        yield Static(id="verdict")
        with Horizontal():
            yield Steps(id="steps", cursor_type="row", zebra_stripes=True)
            with VerticalScroll(id="detail", can_focus=False):
                yield Static(id="state")
        yield Input(placeholder="search steps", id="search")
        yield Footer()

    def on_mount(self) -> None:
        self._fill(len(self.trace) - 1)
        self.query_one("#steps", Steps).focus()

    @property
    def selected(self) -> int:
        """The number of the selected step."""
        return self.query_one("#steps", Steps).cursor_row

    def action_go(self, to: int) -> None:
        self._select(to % len(self.trace))

    def action_search(self) -> None:
        box = self.query_one("#search", Input)
        box.add_class("open")
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._wanted = event.value.lower()
        event.input.remove_class("open")
        self.query_one("#steps", Steps).focus()
        self.action_find(1)

    def action_find(self, by: int) -> None:
        """Select the next step that the search finds."""
        steps = self.shown.steps
        texts = [f"{s.name} {s.shown_arguments} {s.actor} {'; '.join(map(str, s.changes))}".lower() for s in steps]
        order = [(self.selected + by * i) % len(texts) for i in range(1, len(texts) + 1)]
        found = next((number for number in order if self._wanted and self._wanted in texts[number]), None)
        if found is None:
            self.notify(f"no step has {visible(self._wanted)!r}" if self._wanted else "press / to search", markup=False)
        else:
            self._select(found)

    def action_fork(self) -> None:
        """List what is enabled after the selected step, and go on from one of these."""
        at, system = self.selected, self._counterexample.system
        after = [(action, successor(action, self.trace[at].state, system.domain)) for action in system.actions]
        enabled = [(action, state) for action, state in after if state is not None and not isinstance(state, Cut)]
        if not enabled:
            cut = sorted({bound for _, state in after if isinstance(state, Cut) for bound in state.bounds})
            self.notify(
                f"nothing is enabled after step {at}"
                + (f" within the bounds; {', '.join(cut)} cut what is" if cut else "")
            )
            return
        taken = self.trace[at + 1].action if at + 1 < len(self.trace) else None
        names = [
            f"{a.actor}: {a}" + ("   (what happened)" if a is taken or str(a) == str(taken) else "") for a, _ in enabled
        ]

        def go_on(chosen: int | None) -> None:
            if chosen is None:
                return
            action, state = enabled[chosen]
            if self.forked_at is None or at < self.forked_at:
                self.forked_at = at
            self.trace = [*self.trace[: at + 1], Step(action, state)]
            self.shown = shown_trace(
                system, self.trace, self._counterexample.drawing, self._counterexample.violation.property
            )
            self._fill(at + 1)

        self.push_screen(Choice(f"{len(names)} enabled after step {at}", list(map(visible, names))), go_on)

    def action_back(self) -> None:
        at = self.selected
        self.trace, self.shown, self.forked_at = list(self._counterexample.violation.trace), self._counterexample, None
        self._fill(min(at, len(self.trace) - 1))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        if 0 <= event.cursor_row < len(self.shown.steps):
            self.query_one("#state", Static).update(self._detail(self.shown.steps[event.cursor_row]))

    def _select(self, number: int) -> None:
        self.query_one("#steps", Steps).move_cursor(row=max(0, min(number, len(self.trace) - 1)))

    def _fill(self, selected: int) -> None:
        """Show the steps as they are now."""
        table = self.query_one("#steps", Steps)
        table.clear(columns=True)
        table.add_columns("", "who", "step")
        for step in self.shown.steps:
            forked = self.forked_at is not None and step.number > self.forked_at
            style = "red" if step.violated else "magenta" if forked else ""
            what = f"{step.name} {step.shown_arguments}".rstrip() or "initial state"
            table.add_row(
                Text(str(step.number)),
                Text(visible(step.actor)),
                Text(("⑂ " if forked else "") + visible(what), style),
            )
        violation = self._counterexample.violation
        verdict = f"{visible(self._counterexample.title)}: {violation.property} is false: {visible(violation.witness)}"
        if self.forked_at is not None:
            verdict = f"forked after step {self.forked_at}; b goes back to the counterexample"
        self.query_one("#verdict", Static).update(Text(verdict, "bold"))
        table.move_cursor(row=selected)
        self.query_one("#state", Static).update(self._detail(self.shown.steps[selected]))

    def _detail(self, step: ShownStep) -> Text:
        """The step and the state after it."""
        text = Text()
        text.append(f"step {step.number} {step.name} {visible(step.shown_arguments)}\n".replace("  ", " "), "bold")
        text.append(f"{step.meaning.line}\n")
        if step.meaning.source:
            text.append(f"{step.meaning.source}\n", "dim")
        for lane, cell in step.cells.items():
            words: Any = Text("  ").join(lane_words(cell, step, lane, coloured=True, everything=True))
            text.append(f"\n{visible(lane):<12}", "bold" if cell.changed else "dim").append_text(unbroken(words))
        text.append("\n\n")
        for change in step.changes:
            text.append(f"  {visible(str(change))}\n", "green")
        if step.violated:
            text.append(f"\nfalse: {', '.join(sorted(step.violated))}\n", "bold red")
        return text
