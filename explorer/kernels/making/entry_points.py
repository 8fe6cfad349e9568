"""The kernels as the rest of the house calls them. A kernel whose machine code is kept is loaded; any other is
compiled, and kept.

Arguments and results are those of the function of that name in the module of `highwater.explorer.kernels` that is
named below: contiguous arrays, whole numbers and tuples of them. Machine code is for certain types of arguments: of
arrays, the elements' type and the number of axes; of tuples, what is in them. How many units a row has is a number
like any other, so that one set of kernels serves every model.
"""

from __future__ import annotations

import functools
import importlib
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy import ndarray

from highwater.explorer.kernels.making import code_cache
from highwater.explorer.kernels.making.code_cache import EXCEPTION, FIRST_ARGUMENT, RESULTS, Function
from highwater.explorer.kernels.making.compile_times import TIMES
from highwater.explorer.memory import address_limit, address_space, in_bytes, machine_memory

if TYPE_CHECKING:  # importing it takes time, and most processes compile nothing
    from highwater.explorer.kernels.making import compilers

_WORD = (1 << 64) - 1
_loading = threading.Lock()

LEAST_TO_COMPILE = 448 << 20
"""Address space that a process needs to compile: numba takes 325 MiB before it begins, and 470 in the end."""

MOST_TO_COMPILE = 1 << 30
"""Of the machine's memory that each of several such processes may take."""


class EntryPoint:
    """How one kernel is called: as a method of the `MachineCode` that its callers have."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._loaded: dict[tuple[Any, ...], Function] = {}
        self._dispatcher: Callable[..., Any] | None = None

    def __get__(self, code: MachineCode | None, owner: type) -> Any:
        if code is None:
            return self
        return code.stand_ins.get(self._name) or functools.partial(self.call, code)

    def __call__(self, *arguments: Any) -> Any:
        return self.call(ALONE, *arguments)

    def call(self, code: MachineCode, *arguments: Any) -> Any:
        """Call it with arguments as described above."""
        code.hand_over()
        if self._dispatcher:
            return self._dispatcher(*arguments)
        cells = [0] * FIRST_ARGUMENT
        kinds: list[Any] = []
        _list(arguments, cells, kinds)
        entry_point = self._loaded.get(tuple(kinds)) or self._load(code, tuple(kinds), arguments)
        if entry_point is None:
            return self.call(code, *arguments)
        block = array("Q", cells)
        address, _ = block.buffer_info()
        if entry_point(address, address + 8 * EXCEPTION, address):
            raise ValueError(f"{self._module}.{self._name} takes arrays that are contiguous only")
        if block[RESULTS] == 1:
            return _signed(block[RESULTS + 1])
        return tuple(map(_signed, block[RESULTS + 1 : RESULTS + 1 + block[RESULTS]])) or None

    def _load(self, code: MachineCode, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> Function | None:
        """The entry point for arguments of such types; None if numba has to be asked each time."""
        with _loading:
            name = _kept_as(self._module, self._name, kinds)
            entry_point = self._loaded.get(kinds) or code_cache.load(name)
            if entry_point is None:
                beside = code.beside(name)
                kernels = {} if beside else code.together_with(name)
                processes = code.processes(kernels) if kernels else 1
                with TIMES.compiling(code.about, processes, several=bool(kernels or beside)):
                    if beside:
                        beside.wait(name)
                    if kernels:
                        code.compile_together(kernels)
                    with code_cache.in_turn(name):
                        entry_point = code_cache.load(name) or self._compile(name, arguments, apart=code.apart)
            if entry_point is not None:
                self._loaded[kinds] = entry_point
            return entry_point

    def _compile(self, name: str, arguments: tuple[Any, ...], *, apart: bool) -> Function | None:
        left, limit = address_space(), address_limit()
        if limit is not None and limit < LEAST_TO_COMPILE:  # Python may go on for ever where it finds no memory
            raise MemoryError(f"{self._name} cannot be compiled in {in_bytes(limit)} of address space")
        apart = apart or left is not None  # where it is limited, LLVM ends the process in which it finds no memory
        made = _made.get(name)
        if made is None and apart:
            from highwater.explorer.kernels.making import compilers

            made = compilers.compiled([(self._module, self._name, arguments)], 1).get(0)
        if made is not None:
            with suppress(RuntimeError):
                entry_point = code_cache.linked(name, *made)
                code_cache.keep(name, *made)
                return entry_point
        if left is not None:
            raise MemoryError(f"{self._name} cannot be compiled in {in_bytes(left)} of address space")
        from highwater.explorer.kernels.making import compiling  # imports numba

        kernel = getattr(importlib.import_module(f"highwater.explorer.kernels.{self._module}"), self._name)
        try:
            symbol, code = compiling.object_code(kernel, arguments)
            entry_point = code_cache.linked(name, symbol, code)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"[:200]
            warnings.warn(f"{self._name} is compiled anew by every process: {why}", RuntimeWarning, stacklevel=4)
            self._dispatcher = compiling.dispatcher(kernel)
            return None
        code_cache.keep(name, symbol, code)
        return entry_point


def name_of(module: str, name: str, arguments: tuple[Any, ...]) -> str:
    """The name that the code of a kernel has for arguments of such types."""
    kinds: list[Any] = []
    _list(arguments, [], kinds)
    return _kept_as(module, name, kinds)


def _kept_as(module: str, name: str, kinds: Iterable[Any]) -> str:
    spelled = " ".join(each.__name__ if isinstance(each, type) else str(each) for each in kinds)
    made_of = f"{spelled} {code_cache.digest_of(module)}"
    return f"{module}.{name}-{sha256(made_of.encode()).hexdigest()[:16]}"


_made: dict[str, compilers.Made] = {}
"""What other processes compiled for this one, by the name that it is kept as: nothing may be kept here."""


def _keep(name: str, made: compilers.Made) -> None:
    _made[name] = made
    code_cache.keep(name, *made)


def _list(arguments: tuple[Any, ...], cells: list[int], kinds: list[Any]) -> None:
    """List arguments one after the other as an entry point reads them, and their types."""
    for each in arguments:
        if isinstance(each, ndarray):
            cells.append(id(each))
            kinds.append(each.dtype)
            kinds.append(each.ndim)
        elif isinstance(each, tuple):
            kinds.append(type(each))
            kinds.append(len(each))
            _list(each, cells, kinds)
        else:
            cells.append(int(each) & _WORD)
            kinds.append(int)


def _signed(cell: int) -> int:
    return cell - (cell >> 63 << 64)


class Together(NamedTuple):
    """The kernels of a search, which are compiled together once one of them has to be.

    Attributes:
        liveness: whether it judges liveness.
        processes: how many compile side by side.
    """

    liveness: bool
    processes: int


class MachineCode:
    """The kernels, and how those are compiled that are not kept: what one search has to say of it.

    Attributes:
        about: what code is compiled for, such as "states of 3 words".
        together: the kernels to compile together; None if there are none, or once they were.
        apart: whether to compile in processes of their own, because numba takes more memory than this process has to
            spare.
        stand_ins: by kernel, what stands in for its machine code until that is compiled.
    """

    def __init__(self, about: str = "", together: Together | None = None, *, apart: bool = False) -> None:
        self.about, self.together, self.apart = about, together, apart
        self.stand_ins: dict[str, Callable[..., Any]] = {}
        self._taking_over: Callable[[], None] = lambda: None
        self._handing_over = threading.RLock()
        self._awaited: set[compilers.Beside] | None = None

    def begin_with(self, stand_ins: dict[str, Callable[..., Any]], taking_over: Callable[[], None]) -> None:
        """Call these in place of kernels, until `hand_over`, which then does what machine code needs."""
        self.stand_ins, self._taking_over = stand_ins, taking_over

    def hand_over(self) -> None:
        """Call machine code from now on. A kernel that has no stand-in asks for this, too."""
        if not self.stand_ins:
            return
        with self._handing_over:
            if "enter_rows" in self.stand_ins:
                del self.stand_ins["enter_rows"]
                self._taking_over()
                self.stand_ins = {}

    def missing(self) -> dict[str, compilers.Kernel]:
        """The kernels of the search that are not kept, by the names that they are kept as."""
        if self.together is None:
            return {}
        from highwater.explorer.kernels.making.signatures import of_a_search

        kernels = of_a_search(self.together.liveness)
        found: dict[str, compilers.Kernel] = {name_of(*kernel): kernel for kernel in kernels}
        return {name: kernel for name, kernel in found.items() if name not in _made and not code_cache.is_kept(name)}

    def beside(self, name: str) -> compilers.Beside | None:
        """What compiles an entry point beside the search, if anything does."""
        from highwater.explorer.kernels.making import compilers

        return None if name in _made else compilers.beside.get(name)

    @property
    def can_compile_beside(self) -> bool:
        """Whether the machine has room for a compiler beside the search."""
        return machine_memory() // MOST_TO_COMPILE > 1

    def compile_beside(self) -> None:
        """Compile the kernels of the search that are not kept in processes of their own, while it goes on."""
        if self._awaited is not None:
            return
        from highwater.explorer.kernels.making import compilers

        missing = self.missing()
        kernels = {name: kernel for name, kernel in missing.items() if name not in compilers.beside}
        if kernels:
            found = compilers.Beside(kernels, self.processes(kernels), _made.__setitem__)
            compilers.beside.update(dict.fromkeys(kernels, found))
        self._awaited = {each for each in map(compilers.beside.get, missing) if each is not None}

    @property
    def is_compiling(self) -> bool:
        """Whether stand-ins serve while kernels are compiled beside them."""
        return bool(self.stand_ins) and self._awaited is not None

    def stop_compiling(self) -> None:
        """Compile no more beside the search."""
        if self._awaited is not None:
            from highwater.explorer.kernels.making import compilers

            compilers.stop()

    @property
    def is_compiled(self) -> bool:
        """Whether what is compiled beside the search is there, so far as it can be made."""
        return self._awaited is not None and all(each.is_over for each in self._awaited)

    def together_with(self, name: str) -> dict[str, compilers.Kernel]:
        """What an entry point is compiled together with, itself included, by the names that they are kept as: the
        kernels of the search that are not kept. Empty if it is compiled alone.
        """
        if self.together is None or self.apart or address_space() is not None:
            return {}
        missing = self.missing()
        return missing if name in missing and self.processes(missing) > 1 else {}

    def processes(self, kernels: dict[str, compilers.Kernel]) -> int:
        """How many processes to compile some kernels in."""
        return min(self.together.processes, len(kernels), machine_memory() // MOST_TO_COMPILE) if self.together else 1

    def compile_together(self, kernels: dict[str, compilers.Kernel]) -> None:
        """Compile some kernels side by side, and keep them."""
        from highwater.explorer.kernels.making import compilers

        processes, self.together = self.processes(kernels), None
        with code_cache.in_turn(f"{next(iter(kernels))}-and-others"):
            missing = [name for name in kernels if not code_cache.load(name)]  # unless another process had its turn
            for position, made in compilers.compiled([kernels[name] for name in missing], processes).items():
                _keep(missing[position], made)

    check, mark_violating = (EntryPoint("steps.check", name) for name in ("check", "mark_violating"))
    expand = EntryPoint("steps.expand", "expand")
    enter_rows, find, move_row = (EntryPoint("states.stored", name) for name in ("enter_rows", "find", "move_row"))
    copy_rows, enter_parts, fold_rows, widen_rows = (
        EntryPoint("states.refolding", name) for name in ("copy_rows", "enter_parts", "fold_rows", "widen_rows")
    )
    orbit_sizes, representative = (EntryPoint("states.canonical", name) for name in ("orbit_sizes", "representative"))
    mark_at_rest, mark_breaking, mark_predecessors, mark_reaching, note_parents = (
        EntryPoint("graphs.reach", name)
        for name in ("mark_at_rest", "mark_breaking", "mark_predecessors", "mark_reaching", "note_parents")
    )
    list_edges = EntryPoint("graphs.graph", "list_edges")
    judge_components, mark_held_back, mark_ways, measure = (
        EntryPoint("graphs.components", name) for name in ("judge_components", "mark_held_back", "mark_ways", "measure")
    )
    drop_leading_nowhere, drop_unpreceded, mark_ways_in, measure_range = (
        EntryPoint("graphs.passes", name)
        for name in ("drop_leading_nowhere", "drop_unpreceded", "mark_ways_in", "measure_range")
    )
    admit, enter, find_records, keep_owned, remove_after = (
        EntryPoint("states.owners", name) for name in ("admit", "enter", "find_records", "keep_owned", "remove_after")
    )
    first_breaking, first_violating, list_steps, orbits_of, route, successors = (
        EntryPoint("graphs.partitions", name)
        for name in ("first_breaking", "first_violating", "list_steps", "orbits_of", "route", "successors")
    )
    walk_on = EntryPoint("steps.walks", "walk_on")


ALONE = MachineCode()
"""For kernels that are called outside of a search: each is compiled by itself."""
