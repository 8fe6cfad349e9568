"""What the terminal shows over or beside a session: a list to choose from, a line to type, the table of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, OptionList, Static
from textual.widgets.option_list import Option

from highwater.visible import visible


class Pick(ModalScreen[int | None]):
    """A list to choose from. Below it stands what the option under the cursor would do."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss(None)", "back")]
    CSS = """
    Pick { align: center middle; } Pick > Vertical { width: 90%; height: 85%; }
    OptionList { height: 1fr; border: round $accent; }
    #would { height: auto; max-height: 10; padding: 0 1; background: $boost; }
    """

    def __init__(self, title: str, options: Sequence[str], would: Sequence[str] = ()) -> None:
        super().__init__()
        self._title, self._options, self._would = title, options, would

    def compose(self) -> ComposeResult:
        options = OptionList(*(Option(Text(visible(option))) for option in self._options))
        options.border_title = self._title
        with Vertical():
            yield options
            yield Static(id="would")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if self._would:
            self.query_one("#would", Static).update(Text(visible(self._would[event.option_index])))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)


class Ask(ModalScreen[str | None]):
    """A line of text."""

    BINDINGS: ClassVar = [Binding("escape", "dismiss(None)", "back")]
    CSS = "Ask { align: center middle; } Input { width: 90%; border: round $accent; }"

    def __init__(self, title: str, text: str = "") -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        line = Input(self._text)
        line.border_title = self._title
        yield line

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Steps(DataTable[Any]):
    """The table of steps. In a table, Home and End would move between columns."""

    BINDINGS: ClassVar = [
        Binding("home", "app.along(-1000000)", "first", show=False),
        Binding("end", "app.along(1000000)", "last", show=False),
        Binding("j", "cursor_down", "next", show=False),
        Binding("k", "cursor_up", "previous", show=False),
        Binding("enter", "app.take", "take", show=False),
    ]
