"""How much memory there is: of the machine, of a container, of address space."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from highwater.explorer import memory
from highwater.explorer.memory import container_limits, machine_memory, reserve

ROOT = Path(__file__).parents[2]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("groups", "files", "limits"),
    [
        ("0::/\n", {"memory.max": "1073741824\n"}, [1 << 30]),
        ("0::/\n", {"memory.max": "max\n"}, []),
        ("0::/pod/one\n", {"pod/one/memory.max": "max\n", "pod/memory.max": "2000000\n"}, [2000000]),
        # the path of the host, and what is mounted is the container's
        ("0::/elsewhere\n", {"memory.max": "3000000\n"}, [3000000]),
        ("4:memory:/docker/1\n", {"memory/docker/1/memory.limit_in_bytes": "4000000\n"}, [4000000]),
        ("4:cpu,memory:/docker/1\n", {"memory/memory.limit_in_bytes": "5000000\n"}, [5000000]),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, []),
        ("2:cpu:/\n", {"memory/memory.limit_in_bytes": "6000000\n", "memory.max": "7\n"}, []),
        (
            "4:memory:/a\n0::/\n",
            {"memory/a/memory.limit_in_bytes": "7000000\n", "memory.max": "8000000\n"},
            [7000000, 8000000],
        ),
        ("0::/\n", {"memory.max": "much\n"}, []),
        ("0::/../..\n", {"memory.max": "9000000\n"}, [9000000]),
        ("nonsense\n", {}, []),
        ("0::/\n", {}, []),
    ],
)
def test_the_limits_of_containers_are_read(
    tmp_path: Path, groups: str, files: dict[str, str], limits: list[int]
) -> None:
    write(tmp_path, {"groups": groups, **{f"mounted/{name}": text for name, text in files.items()}})
    assert sorted(set(container_limits(tmp_path / "groups", tmp_path / "mounted"))) == limits


def test_no_control_groups_means_no_container_limits(tmp_path: Path) -> None:
    assert container_limits(tmp_path / "groups", tmp_path) == []


def test_machine_memory_is_at_most_the_containers_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "container_limits", lambda: [1 << 60, 12345])
    assert machine_memory() == 12345


def test_address_space_that_cannot_be_reserved_is_a_memory_error() -> None:
    for size in (1 << 60, 1 << 66):
        with pytest.raises(MemoryError, match="of address space cannot be reserved"):
            reserve((size,), "u4")


LIMITED = """
import resource, sys
from highwater.explorer.memory import address_space
before = address_space()
resource.setrlimit(resource.RLIMIT_AS, (1 << 32, resource.RLIM_INFINITY))
print(before, address_space() is not None and 1 << 28 < address_space() < 1 << 32)
"""


def test_a_limit_on_address_space_is_known() -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("address space is limited here already")
    assert (
        subprocess.run([sys.executable, "-c", LIMITED], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        == "None True\n"
    )


@pytest.mark.parametrize(("mib", "huge"), [(1, False), (4, False), (64, True)])
def test_large_arrays_ask_for_huge_pages_behind_their_first_mebibytes(mib: int, huge: bool) -> None:
    if not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this system has no huge pages")
    array = reserve((mib << 20,), "u1")
    assert ("hg" in flags_of(array.ctypes.data + len(array) - 1)) == huge
    assert "hg" not in flags_of(array.ctypes.data)


def flags_of(address: int) -> list[str]:
    """How the system treats the memory at an address of this process."""
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii").splitlines():
        first, *rest = line.split()
        if first == "VmFlags:" and inside:
            return rest
        if not first.endswith(":"):
            begin, end = (int(each, 16) for each in first.split("-"))
            inside = begin <= address < end
    raise AssertionError("no memory of this process")
