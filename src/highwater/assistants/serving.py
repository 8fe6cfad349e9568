"""A server of the Model Context Protocol on standard input and output. Each call is answered by a process of its own,
which is ended when its time is up, or when the assistant does not want the answer any more.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import attrs
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp.types import Tool as ShownTool

from highwater.assistants.checking import AT_ONCE, out_of_time
from highwater.assistants.contract import MOST_SECONDS, QUICK, Tool
from highwater.assistants.tools import TOOLS
from highwater.claims.tables import Wrong, did_you_mean, shown
from highwater.distribution import VERSION
from highwater.visible import counted

GRACE = 3.0
"""Seconds that a search has to end by itself and to say what it has found."""

LONGEST_LINE = 1 << 26
MOST_KEPT = 20
MOST_WAITING = 20
INSTRUCTIONS = (
    "Highwater checks formal models of Apache Kafka's replication and control plane exhaustively within bounds. For "
    "questions about a cluster, begin with list_questions and ask_kafka. For models: list_models, list_properties and "
    "list_specs; write the TOML of a spec, try it with show_spec, then check_spec. Where a spec is violated, "
    "explain_counterexample says how it comes about, and enabled_steps, take_step and find_state try a model by hand. "
    'A verdict "holds" is a proof within the bounds of the spec only; "unknown" proves nothing.'
)


class Refused(Exception):
    """A call has no answer, and why, in one sentence."""


class Ended(Refused):
    """A process was ended before it answered, as its time was up.

    Attributes:
        so_far: how far its search was, as it reported last.
    """

    def __init__(self, why: str, so_far: Mapping[str, Any]) -> None:
        super().__init__(why)
        self.so_far = so_far


@attrs.define
class Assistance:
    """What the calls of one server share.

    Attributes:
        root: the folder that it was started in.
        model_path: folders with models below it.
        kept: the last counterexamples that were found, by name.
        running: the processes that answer calls.
    """

    root: Path
    model_path: Sequence[str] = ()
    kept: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    running: set[int] = attrs.field(factory=set)
    _found: int = 0
    _waiting: int = 0
    _room: anyio.CapacityLimiter = attrs.field(factory=lambda: anyio.CapacityLimiter(AT_ONCE))

    async def answer(self, name: str, arguments: Any, report: Any) -> dict[str, Any]:
        """The answer of a tool.

        Args:
            report: is awaited with how far a search is.

        Raises:
            Refused: there is none.
        """
        if name not in TOOLS:
            raise Refused(f"there is no tool {shown(name)}{did_you_mean(name, TOOLS)}; there are {', '.join(TOOLS)}")
        tool = TOOLS[name]
        try:
            asked = tool.read(arguments or {})
        except Wrong as wrong:
            raise Refused("; ".join(wrong.problems)) from None
        if self._waiting >= MOST_WAITING:
            raise Refused(f"{MOST_WAITING} calls wait already; wait for their answers")
        self._waiting += 1
        try:
            async with self._room:
                return await self._in_a_process(tool, arguments or {}, asked, report)
        finally:
            self._waiting -= 1

    async def _in_a_process(self, tool: Tool, arguments: Any, asked: Any, report: Any) -> dict[str, Any]:
        request = {"tool": tool.name, "arguments": arguments, "entries": self._needed(asked)}
        request |= {"root": str(self.root), "model_path": list(self.model_path)}
        try:
            reply = await self._reply(request, getattr(asked, "seconds", QUICK), report)
        except Ended as ended:
            if tool.name != "check_spec":
                more = f"; up to {MOST_SECONDS} may be given" if hasattr(asked, "seconds") else ""
                raise Refused(f"no answer, {ended}{more}") from None
            return tool.written(out_of_time(asked, ended.so_far, str(ended)))
        if "traceback" in reply:
            print(reply["traceback"], file=sys.stderr)
            raise Refused("an internal error: this is a defect of Highwater; its traceback is in the server's log")
        if "refused" in reply:
            raise Refused(reply["refused"])
        if reply["entry"] is not None:
            reply["answer"]["counterexample"] = self._keep(reply["entry"])
        return dict(reply["answer"])

    async def _reply(self, request: Mapping[str, Any], seconds: int, report: Any) -> dict[str, Any]:
        """The last line of a process that answers a call.

        Raises:
            Ended: its time was up, or it has ended by itself.
        """
        command = [sys.executable, "-P", "-B", "-m", "highwater.assistants.answering"]
        process = await anyio.open_process(command, stderr=DEVNULL, cwd=self.root, start_new_session=True)
        self.running.add(process.pid)
        try:
            return await _conversation(process, request, seconds, report)
        finally:
            end(process.pid)
            self.running.remove(process.pid)
            with anyio.CancelScope(shield=True):
                await process.aclose()

    def _needed(self, asked: Any) -> dict[str, Mapping[str, Any]]:
        """The kept counterexamples for a process: the one that is asked for whole, of the others their names."""
        wanted = getattr(asked, "counterexample", None)
        return {name: entry if name == wanted else {} for name, entry in self.kept.items()} if wanted else {}

    def _keep(self, entry: Mapping[str, Any]) -> str:
        self._found += 1
        name = f"c{self._found}"
        self.kept[name] = entry
        for oldest in list(self.kept)[:-MOST_KEPT]:
            del self.kept[oldest]
        return name


def end(process: int) -> None:
    """End a process with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)


async def _conversation(process: Process, request: Mapping[str, Any], seconds: int, report: Any) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    lines = _Lines(BufferedByteReceiveStream(process.stdout), report)
    with anyio.move_on_after(seconds):
        with suppress(anyio.BrokenResourceError):
            await process.stdin.send(json.dumps(request).encode())
            await process.stdin.aclose()
        return await lines.last() or await _without_an_answer(process)
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGINT)
    why = f"{counted(seconds, 'second')} ran out"
    with anyio.move_on_after(GRACE):
        reply = await lines.last()
        if reply and "interrupted" not in reply:
            return reply
        raise Ended(why, lines.so_far)
    raise Ended(f"{why}, and what ran then did not return", lines.so_far)


async def _without_an_answer(process: Process) -> dict[str, Any]:
    """
    Raises:
        Refused: always, with how the process has ended.
    """
    ended = await process.wait()
    how = f"signal {-ended}" if ended < 0 else f"exit code {ended}"
    raise Refused(f"the process that answers has ended with {how} and without an answer, which a model can do to it")


@attrs.define
class _Lines:
    """The lines of a process."""

    stream: BufferedByteReceiveStream
    report: Any
    so_far: Mapping[str, Any] = attrs.field(factory=dict)

    async def last(self) -> dict[str, Any]:
        """The first line with more than progress; nothing if the process has ended without one."""
        while True:
            try:
                reply = json.loads(await self.stream.receive_until(b"\n", LONGEST_LINE))
            except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, ValueError):
                return {}
            if "so_far" not in reply:
                return dict(reply)
            self.so_far = reply["so_far"]
            await self.report(self.so_far)


def server_of(assistance: Assistance) -> Server[Any]:
    """The server, for any transport."""

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_shown(tool) for tool in TOOLS.values()])

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        async def report(so_far: Mapping[str, Any]) -> None:
            words = f"{counted(so_far['states'], 'state')}, {counted(so_far['depth'], 'step')} deep"
            await context.session.report_progress(float(so_far["states"]), message=words)

        try:
            answer = await assistance.answer(params.name, params.arguments, report)
        except Refused as refused:
            return CallToolResult(content=[TextContent(text=str(refused))], is_error=True)
        text = json.dumps(answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)

    return Server(
        "highwater", version=VERSION, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _shown(tool: Tool) -> ShownTool:
    return ShownTool(
        name=tool.name,
        description=tool.words,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False),
    )


def serve(root: Path, model_path: Sequence[str]) -> None:
    """Serve on standard input and output until the former ends."""
    assistance = Assistance(root, model_path)

    async def run() -> None:
        server = server_of(assistance)
        async with anyio.create_task_group() as group:
            group.start_soon(_interrupted, assistance)
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()

    anyio.run(run)


async def _interrupted(assistance: Assistance) -> None:
    """End by the first signal, as an exception would not: a thread waits for standard input, and is waited for."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for received in signals:
            for process in assistance.running:
                end(process)
            print("interrupted", file=sys.stderr, flush=True)
            signal.signal(received, signal.SIG_DFL)
            os.kill(os.getpid(), received)
