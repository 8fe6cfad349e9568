"""`highwater mcp`, with the client of the package: answers and refusals for assistants."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from click.testing import Result
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from highwater.assistants import serving
from highwater.assistants.contract import ROOM, Answered, fitting, short
from highwater.assistants.place import LONGEST_SPEC, Place
from highwater.assistants.serving import Assistance, server_of
from highwater.assistants.tools import TOOLS
from highwater.claims import own
from highwater.claims.tables import Wrong
from highwater.model.catalogue import MODELS

HERE = Path(__file__).parent
SCAFFOLD = HERE.parents[1] / "src/highwater/scaffold"
PUBLISHED = HERE / "assistants.schemas.json"
KIP_101 = "gallery:kip_101_fails_on_two_brokers"
LOCK = """
model = "lock_service:MODEL"
protocol = { fencing = false }
bounds = { clients = 2, token_max = 2 }
check = ["writes_never_go_back"]
"""
LARGEST = 9_000
"""Characters of an answer, as JSON."""

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project of a user's, in which the server is started."""
    monkeypatch.setattr(own, "_confined", [])
    project = tmp_path / "project"
    shutil.copytree(SCAFFOLD, project)
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def call(folder: Path) -> Call:
    """What a tool answers, without the protocol and in this process."""

    def answer(name: str, /, place: Place | None = None, **arguments: Any) -> dict[str, Any]:
        tool = TOOLS[name]
        own.confine(folder)
        made = tool.run(tool.read(arguments), place or Place(folder))
        written = tool.written(made.answer if isinstance(made, Answered) else made)
        jsonschema.validate(written, tool.output_schema)
        assert len(json.dumps(written, ensure_ascii=False)) < LARGEST
        return written

    return answer


def with_client(folder: Path, talk: Callable[[Client], Any]) -> None:
    """Talk to a server in this process; each call still has a process of its own."""

    async def run() -> None:
        async with Client(server_of(Assistance(folder))) as client:
            await talk(client)

    anyio.run(run)


# --- the main flow


def test_an_assistant_checks_explains_and_steps_over_standard_input(folder: Path) -> None:
    """The model prints whatever it likes: standard output belongs to the protocol."""
    source = folder / "lock_service.py"
    source.write_text(f"{source.read_text()}\nprint('{{}}\\n' * 10)\nimport os\nos.write(1, b'hello')\n")
    (folder / "json.py").write_text("raise SystemExit('what lies in the folder is not imported')\n")
    before = sorted(folder.rglob("*"))
    command = [sys.executable, "-P", "-m", "highwater", "mcp", "--model-path", "."]
    server = StdioServerParameters(command=command[0], args=command[1:], cwd=folder, env=dict(os.environ))

    async def talk() -> None:
        async with Client(stdio_client(server)) as client:
            tools = {each.name: each for each in (await client.list_tools()).tools}

            async def answer(name: str, **arguments: Any) -> dict[str, Any]:
                called = await client.call_tool(name, arguments)
                assert not called.is_error, called.content[0].text
                jsonschema.validate(called.structured_content, tools[name].output_schema)
                assert json.loads(called.content[0].text) == called.structured_content
                return called.structured_content

            found = await answer("check_spec", text=LOCK)
            assert (found["verdict"], found["property"], found["steps"]) == ("violated", "writes_never_go_back", 5)
            assert found["why"] == "the last write came with token 1, after one with token 2"
            explained = await answer("explain_counterexample", counterexample=found["counterexample"])
            assert [each["action"].split()[0] for each in explained["steps"]] == [
                *("acquire", "expire", "acquire", "write", "write")
            ]
            assert explained["steps"][1]["means"].startswith("The holder's lease runs out.")
            here = await answer("enabled_steps", counterexample=found["counterexample"], at=2)
            assert here["depth"] == 2
            (again,) = [each["step"] for each in here["enabled"] if each["step"] == "acquire(client c1)"]
            there = await answer("take_step", counterexample=found["counterexample"], at=2, step=again)
            assert (there["depth"], there["path"]) == (3, [again])
            refused = await client.call_tool("take_step", {"text": LOCK, "step": "expire()"})
            assert refused.is_error
            assert refused.content[0].text.startswith("step: expire() is not enabled: world.holder is None")

    anyio.run(talk)
    assert sorted(folder.rglob("*")) == before, "nothing is written into the folder"


ABOUT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": ABOUT}


def server_in(folder: Path) -> subprocess.Popen[bytes]:
    """A server, to be talked to byte by byte."""
    command = [sys.executable, "-P", "-m", "highwater", "mcp"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=folder, **pipes)


def test_malformed_messages_do_not_stop_the_server(folder: Path) -> None:
    messages = [
        b"\xff\xfe not UTF-8",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/call"}',
        b'{"a": ' * 50_000,
        b"x" * 3_000_000,
        json.dumps(HELLO).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_models", "arguments": 7}}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 4, "method": "tools/list"}',
    ]
    with server_in(folder) as server:
        server.stdin.write(b"\n".join(messages) + b"\n")
        server.stdin.flush()
        answers = {}
        while 4 not in answers:
            answer = json.loads(server.stdout.readline())
            answers[answer.get("id")] = answer
        server.stdin.close()
        assert server.wait(60) == 0
    assert answers[1]["result"]["serverInfo"]["name"] == "highwater"
    assert "error" in answers[2]
    assert "error" in answers[3]
    assert {each["name"] for each in answers[4]["result"]["tools"]} == {*TOOLS}


# --- budgets

NEVER = """
import time
print("imported")

def forever():
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass
"""


def test_a_model_that_never_returns_is_ended_and_the_answer_is_unknown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although it keeps the interrupt to itself."""
    monkeypatch.setattr(serving, "GRACE", 0.1)
    source = (SCAFFOLD / "lock_service.py").read_text().replace("    token = world.believed[client]", "    forever()")
    (folder / "stuck.py").write_text(source + NEVER)

    async def talk(client: Client) -> None:
        found = await client.call_tool("check_spec", {"text": LOCK.replace("lock_service", "stuck"), "seconds": 1})
        assert not found.is_error, found
        assert found.structured_content["verdict"] == "unknown"
        assert re.match(r"unknown, 1 second ran out.*: so far .* and no violation", found.structured_content["words"])
        again = await client.call_tool("enabled_steps", {"text": LOCK.replace("lock_service", "stuck"), "seconds": 1})
        assert again.is_error
        assert again.content[0].text.startswith("no answer, 1 second ran out")

    with_client(folder, talk)


def test_a_search_that_ends_as_its_seconds_are_over_says_so(folder: Path) -> None:
    """Whichever came first: that it was interrupted, or that it was ended."""
    source = (SCAFFOLD / "lock_service.py").read_text()
    endless = source.replace("    token = world.believed[client]", "    import time\n    time.sleep(600)")
    assert endless != source
    (folder / "slow.py").write_text(endless)

    async def talk(client: Client) -> None:
        found = await client.call_tool("check_spec", {"text": LOCK.replace("lock_service", "slow"), "seconds": 2})
        assert found.structured_content["words"].startswith("unknown, 2 seconds ran out: so far "), found

    with_client(folder, talk)


@pytest.mark.parametrize(
    ("last_line", "words"),
    [
        ("raise RuntimeError('no')", "stuck cannot be imported: RuntimeError: no"),
        ("raise SystemExit(0)", "stuck cannot be imported: SystemExit: 0"),
        ("os._exit(0)", "the process that answers has ended with exit code 0 and without an answer"),
        ("os.kill(os.getpid(), 11)", "the process that answers has ended with signal 11 and without an answer"),
    ],
)
def test_a_model_that_ends_its_process_ends_one_call(folder: Path, last_line: str, words: str) -> None:
    (folder / "stuck.py").write_text(f"import os\n{last_line}\n")

    async def talk(client: Client) -> None:
        refused = await client.call_tool("check_spec", {"text": LOCK.replace("lock_service", "stuck")})
        assert refused.is_error
        assert words in refused.content[0].text
        assert "\n" not in refused.content[0].text

    with_client(folder, talk)


def test_a_call_that_the_client_cancels_is_ended(folder: Path) -> None:
    (folder / "stuck.py").write_text(f"{NEVER}\nimport os\nopen('process', 'w').write(str(os.getpid()))\nforever()\n")
    noted = folder / "process"

    async def talk(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "check_spec", {"text": LOCK.replace("lock_service", "stuck")})
            while not noted.exists() or not noted.read_text():
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        while is_running(int(noted.read_text())):
            await anyio.sleep(0.05)

    with_client(folder, talk)


def test_a_signal_ends_the_server_and_what_it_has_started(folder: Path) -> None:
    """Although its standard input is open."""
    (folder / "stuck.py").write_text(f"{NEVER}\nimport os\nopen('process', 'w').write(str(os.getpid()))\nforever()\n")
    noted = folder / "process"
    call = {"name": "check_spec", "arguments": {"text": LOCK.replace("lock_service", "stuck")}}
    messages = [HELLO, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}]
    with server_in(folder) as server:
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in messages).encode())
        server.stdin.flush()
        while not noted.exists() or not noted.read_text():
            time.sleep(0.05)
        server.send_signal(signal.SIGINT)
        assert server.wait() == -signal.SIGINT
    while is_running(int(noted.read_text())):
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Also of one that nobody waits for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_budget_of_states_that_runs_out_leaves_it_unknown(call: Call) -> None:
    found = call("check_spec", spec=KIP_101, states=100)
    assert (found["verdict"], found["status"], found["counterexample"]) == ("unknown", "undecided", None)
    assert re.fullmatch(
        r"unknown, 100 states are stored: so far [\d,]+ states, \d+ steps deep, and no violation found",
        found["words"],
    )


def test_a_claim_that_holds_names_the_bounds_it_holds_within(call: Call) -> None:
    found = call("check_spec", text=LOCK.replace("false", "true"))
    assert (found["verdict"], found["status"]) == ("holds", "met")
    assert found["words"].startswith("holds within these bounds: writes_never_go_back")
    assert found["bounds_cut"]["token_max"] > 0


# --- the folder


def test_files_outside_the_folder_are_neither_read_nor_imported(folder: Path, call: Call) -> None:
    outside = folder.parent / "outside"
    shutil.move(folder / "lock_service.py", outside.mkdir() or outside / "lock_service.py")
    (outside / "claim.toml").write_text(LOCK)
    (folder / "link.toml").symlink_to(outside / "claim.toml")
    (folder / "linked").symlink_to(outside)
    (folder / "loop.toml").symlink_to(folder / "loop.toml")
    (folder / "lock_service.py").symlink_to(outside / "lock_service.py")
    (folder / "package").symlink_to(outside)
    os.mkfifo(folder / "pipe.toml")
    for spec in (
        *("../outside/claim.toml", str(outside / "claim.toml"), "link.toml", "linked/claim.toml", "/etc/passwd"),
        *("specs/../../outside/claim.toml", "~/claim.toml", "gallery:../../pyproject", "loop.toml", "pipe.toml"),
        *("a\0b.toml", "x" * 400 + "/" + "y" * 90, ".", "lock_service.py", "nothing.toml", "gallery:*"),
    ):
        with pytest.raises(Exception) as refused:
            call("check_spec", spec=spec)
        assert type(refused.value).__name__ in ("Wrong", "SpecError"), refused
    for text in (LOCK, LOCK.replace("lock_service", "package.lock_service")):
        with pytest.raises(Exception, match=f"is not below {folder}, and is not imported"):
            call("check_spec", text=text)
    for text in (LOCK.replace("lock_service", "os"), LOCK.replace("lock_service:MODEL", "os.path:join")):
        with pytest.raises(Exception, match="is not below"):
            call("check_spec", text=text)
    for key in ("../outside", str(outside), "linked"):
        with pytest.raises(Wrong, match="leads out of"):
            call("check_spec", text=LOCK, folder=key)
    with pytest.raises(Wrong, match="leads out of"):
        call("explain_counterexample", counterexample="../outside/report.json")
    assert "lock_service" not in sys.modules
    listed = call("list_specs", where="folder")
    assert all(each["spec"].startswith("specs/") for each in listed["specs"])


def test_modules_that_check_would_not_import_are_not_imported(folder: Path, call: Call) -> None:
    """A spec in specs/ does not name a module above it, unless --model-path does."""
    with pytest.raises(Exception, match="there is no module lock_service; the current folder is searched only with"):
        call("check_spec", spec="specs/fencing_keeps_late_writers_out.toml")
    with pytest.raises(Exception, match="there is no module lock_service"):
        call("check_spec", text=LOCK, folder="specs")
    assert "lock_service" not in sys.modules
    assert call("check_spec", text=LOCK)["verdict"] == "violated"


def test_a_folder_of_models_outside_is_refused_at_the_start(highwater: Callable[..., Result], folder: Path) -> None:
    for path, words in (("..", "leads out of"), ("nothing", "is no folder")):
        ran = highwater("mcp", "--model-path", path)
        assert (ran.exit_code, ran.stdout) == (2, "")
        assert words in ran.stderr


def test_a_missing_library_is_reported_with_the_command_that_installs_it(
    highwater: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "highwater.assistants.serving")
    for name in [each for each in sys.modules if each.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    ran = highwater("mcp")
    assert ran.exit_code == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("highwater: highwater mcp needs the library mcp; install it with: pip install")


# --- what is asked wrongly


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("check_spec", {}, "spec: give either spec, a name, or text"),
        ("check_spec", {"spec": KIP_101, "text": LOCK}, "spec: give either"),
        ("check_spec", {"text": "x" * (LONGEST_SPEC + 1)}, "text: has 20,001 characters or items; allowed are 20,000"),
        ("check_spec", {"text": "a = " + "[" * 15_000}, "is not TOML"),
        ("check_spec", {"text": 'model = "partitoin"\nbounds = {}\ncheck = []'}, '(did you mean "partition"?)'),
        ("check_spec", {"text": LOCK, "seconds": 601}, "seconds: 601 is out of range; allowed are 1..600"),
        ("check_spec", {"text": LOCK, "seconds": 0}, "seconds: 0 is out of range"),
        ("check_spec", {"text": LOCK, "seconds": float("nan")}, "seconds: nan is not a whole number"),
        ("check_spec", {"text": LOCK, "states": 1e300}, "states: 1e+300 is not a whole number"),
        ("check_spec", {"text": LOCK, "states": 10**30}, "is out of range; allowed are 1..50000000"),
        ("check_spec", {"txt": LOCK}, 'txt: unknown key (did you mean "text"?)'),
        ("check_spec", {"text": ["a"]}, "text: ['a'] is not a text"),
        ("explain_counterexample", {"counterexample": "c7"}, "counterexample: there is no c7; kept are none"),
        ("explain_counterexample", {"counterexample": "specs/"}, "is neither c1 or the like, nor a report"),
        ("enabled_steps", {"text": LOCK, "counterexample": "c1"}, "give either this, or spec, or text"),
        ("enabled_steps", {"text": LOCK, "path": ["acquire(client c0)"] * 201}, "path: has 201 characters or items"),
        ("enabled_steps", {"text": LOCK, "path": ["x" * 501]}, "path[0]: has 501 characters; allowed are 500"),
        ("enabled_steps", {"text": LOCK, "path": ["aquire(client c0)"]}, 'did you mean "acquire(client c0)"'),
        ("enabled_steps", {"text": LOCK, "initial": 1}, "initial: 1 is none; there are 1, from 0 on"),
        ("enabled_steps", {"text": LOCK, "action": "aquire"}, 'did you mean "acquire"'),
        ("take_step", {"text": LOCK, "path": ["acquire(client c0)"], "step": "acquire(client c1)"}, "is not enabled"),
        ("find_state", {"text": LOCK, "wanted": "__import__('os')"}, "__import__"),
        ("find_state", {"text": LOCK, "wanted": "(" * 1_000}, ""),
        ("list_properties", {"model": "kraft", "offset": 1_000}, "offset: 1,000 is behind the last; there are"),
        ("list_specs", {"where": "/"}, "where: / is none; allowed are all, folder, gallery"),
        ("ask_kafka", {"question": "rolling"}, "rolling"),
        ("ask_kafka", {"question": "rolling-restart", "release": "9" * 99}, "release: "),
    ],
)
def test_a_call_with_wrong_arguments_is_refused_in_a_sentence(
    call: Call, name: str, arguments: Any, words: str
) -> None:
    with pytest.raises(Exception) as refused:
        call(name, **arguments)
    assert type(refused.value).__name__ in ("Wrong", "SpecError", "ReportError", "SessionError", "ExpressionError")
    assert words in str(refused.value)
    assert len(str(refused.value)) < 1_500


# --- what there is, in small answers


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "key"), [("list_models", "settings"), ("list_properties", "properties"), ("list_actions", "actions")]
)
def test_long_lists_continue_in_the_next_answer(call: Call, name: str, key: str, model: str) -> None:
    found, offset = [], 0
    while offset is not None:
        page = call(name, model=model, offset=offset)
        found += page[key]
        offset = page["next_offset"]
    assert len(found) == page["total"] > 0


def test_a_model_of_ones_own_is_listed_like_any_other(call: Call) -> None:
    assert [each["key"] for each in call("list_models", model="lock_service:MODEL")["settings"]] == [
        *("bounds.clients", "bounds.token_max", "protocol.fencing")
    ]
    (found,) = call("list_properties", model="lock_service:MODEL")["properties"]
    assert (found["name"], found["kind"]) == ("writes_never_go_back", "invariant")


def test_specs_are_found_by_their_text(call: Call) -> None:
    found = call("list_specs", query="KIP-101 two brokers", where="gallery")
    names = [each["spec"] for each in found["specs"]]
    assert KIP_101 in names
    shown = call("show_spec", spec=KIP_101)
    assert 'model = "reference"' in shown["text"]
    assert shown["claims"].startswith("violated: strong_isr after 11 steps")
    every = call("list_specs", where="gallery")
    assert every["total"] > 500
    assert every["next_offset"] == len(every["specs"])


def test_a_way_is_found_and_can_be_followed(call: Call) -> None:
    found = call("find_state", text=LOCK, wanted="last > 0")
    assert found["found"]
    there = call("enabled_steps", text=LOCK, path=found["path"])
    assert "last t1" in there["state"]
    nowhere = call("find_state", text=LOCK, wanted="granted > 99")
    assert (nowhere["found"], nowhere["path"]) == (False, [])


def test_operators_questions_are_listed_and_answered(call: Call) -> None:
    names = [each["question"] for each in call("list_questions", query="power loss")["questions"]]
    assert "power-loss-of-all" in names
    found = call("ask_kafka", question="acks-0", release="3.9.2")
    assert found["answer"] in ("yes", "no", "not known")
    assert found["settings"].startswith("Kafka 3.9.2")


def test_a_truncated_text_gives_the_number_of_missing_characters() -> None:
    assert short("a" * 20, 10) == f"{'a' * 10} … (10 characters more)"
    assert short("a" * 10, 10) == "a" * 10


def test_an_item_that_is_too_large_comes_alone() -> None:
    large = "x" * (ROOM + 1)
    assert fitting([large, "b"]) == ((large,), 1)
    assert fitting([large, "b"], 1) == (("b",), None)
    assert fitting([]) == ((), None)


# --- the contract


def without_words(schema: Any) -> Any:
    """A schema without what only people read."""
    if isinstance(schema, list):
        return [without_words(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: without_words(each) for key, each in schema.items() if key != "description" or not isinstance(each, str)
    }


def test_schemas_are_as_published_under_their_version() -> None:
    """After a change on purpose: raise the tool's version, and write what this prints into the file."""
    now = {
        tool.schema: {"input": without_words(tool.input_schema), "output": without_words(tool.output_schema)}
        for tool in TOOLS.values()
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in now.items())
    assert now == json.loads(PUBLISHED.read_text()), f"{{\n{lines}\n}}"


def test_every_key_of_a_schema_has_a_description() -> None:
    bare: list[str] = []
    for tool in TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        bare += [
            f"{tool.name}: {key}" for key, of in tool.input_schema["properties"].items() if "description" not in of
        ]
        assert tool.words.endswith(".")
    assert bare == []
