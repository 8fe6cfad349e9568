"""Compiling kernels: what all of them are compiled with, and *entry points* to them that plain C can call.

An entry point takes the address of a block of 64-bit cells: room for what numba returns, then for results, then the
arguments one after the other, tuples opened up, an array as the address of the Python object and a number as itself. It
reads where an array's elements are, and how many, from the object, as numpy's C interface lays it out. Its object code
needs nothing of numba's, so it is loaded without importing numba.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any, cast

from llvmlite import binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.extending import intrinsic, overload
from numba.np.arrayobj import populate_array
from numba.np.numpy_support import from_dtype
from numpy import ndarray

from highwater.explorer.kernels.making.code_cache import FIRST_ARGUMENT, RESULTS
from highwater.explorer.kernels.making.targets import Target

# No exceptions of Python's arithmetic and no counting of references: nothing here raises, allocates or holds on to
# arrays, and code that might would need numba's runtime.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
_INSIDE: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


class _InlinedLibrary(JITCodeLibrary):
    """Code that never runs by itself: it is optimized and made into machine code once it has become part of an entry
    point.
    """

    class codegen:
        """What numba tells where a function finds its globals, for which code that never runs has no place."""

        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            pass

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class _InlinedCompiler(Compiler):
    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or _InlinedLibrary(target.codegen(), "inlined"), *rest)


_INLINED: dict[str, Any] = {**_INSIDE, "forceinline": True, "pipeline_class": _InlinedCompiler}
inlined = njit(**_INLINED)
"""Decorates functions that kernels call. LLVM inlines them: numba would copy them over and over before it types them.
"""


def inlined_by_type(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates functions that get the types of arguments, and give what is inlined for such arguments."""
    return overload(choose, jit_options=cast("Any", {"nopython": True, **_INLINED}), strict=False)(choose)


kernel = njit(**_INSIDE, inline="always")
"""Decorates kernels, which are called from Python by `highwater.explorer.kernels.making.entry_points`, and become part
of their entry point.
"""


def dispatcher(of: Any) -> Callable[..., Any]:
    """A kernel as numba calls it."""
    return njit(**_OPTIONS, nogil=True)(of.py_func)


def object_code(of: Any, arguments: tuple[Any, ...], target: Target | None = None) -> tuple[str, bytes]:
    """Relocatable object code of a kernel's entry point for arguments of such types, and its name in there.

    Args:
        target: of another architecture than this process, which may not use any special instructions then.

    Raises:
        Exception: numba has changed; this leans on how it calls functions inside, and how it keeps them for its own
            cache.
    """
    collecting = gc.isenabled()
    # compiling makes no garbage to speak of, and much that the collector would look through again and again
    gc.disable()
    try:
        made: Any
        (made,) = njit("int64(int64)", **_INSIDE)(_entry_point(of, tuple(map(_type_of, arguments)))).overloads.values()
        library = made.library
        code = library._get_compiled_object() if target is None else _translated(library.get_llvm_str(), target)
        return made.fndesc.llvm_func_name, code
    finally:
        if collecting:
            gc.enable()


def _translated(code: str, target: Target) -> bytes:
    """Object code for another architecture, of LLVM's code for this one. All have words of 64 bits, the lower bytes
    first.
    """
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(code)
    options = {"cpu": target.processor, "opt": 3, "reloc": "default", "codemodel": "jitdefault", "jit": True}
    machine = llvm.Target.from_triple(target.triple).create_target_machine(**options)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    return machine.emit_object(module)


def _type_of(argument: Any) -> types.Type:
    if isinstance(argument, tuple):
        return types.BaseTuple.from_types(tuple(map(_type_of, argument)), type(argument))
    if isinstance(argument, ndarray):
        return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
    return types.int64


def _entry_point(of: Any, kinds: tuple[types.Type, ...]) -> Callable[[int], int]:
    """The entry point as numba compiles it. It is spelled out for as many arguments as there are, since a kernel is not
    inlined into f(*x).
    """
    names = ", ".join(f"argument_{number}" for number in range(len(kinds)))
    source = (
        f"def entry_point(block):\n    {names}, = arguments(block)\n    results(block, kernel({names}))\n    return 0\n"
    )
    made: dict[str, Any] = {"kernel": of, "arguments": _reading(types.Tuple(kinds)), "results": _results}
    exec(source, made)
    return made["entry_point"]


_CELL = ir.IntType(64)
_HEADER = object.__basicsize__  # of every Python object
# of an array, behind the header: data, nd, shape, strides, base, type, flags
_DATA, _SHAPE, _FLAGS = _HEADER, _HEADER + 16, _HEADER + 48
_PLAIN = 0x101  # contiguous in C's order, and aligned


def _reading(kinds: types.Type) -> Any:
    """What reads arguments of such types from a block."""

    @intrinsic
    def arguments(typing: Any, block: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            cells = (_load(builder, values[0], 8 * number) for number in range(FIRST_ARGUMENT, 1 << 16))
            return _made(context, builder, kinds, cells)

        return kinds(types.int64), generate

    return arguments


def _load(builder: Any, address: Any, offset: int, kind: Any = _CELL) -> Any:
    return builder.load(builder.inttoptr(builder.add(address, _CELL(offset)), kind.as_pointer()))


def _made(context: Any, builder: Any, kind: Any, cells: Iterator[Any]) -> Any:
    """One argument, of the cells that hold it."""
    if isinstance(kind, types.BaseTuple):
        return context.make_tuple(builder, kind, [_made(context, builder, each, cells) for each in cast("Any", kind)])
    return _array(context, builder, kind, next(cells)) if isinstance(kind, types.Array) else next(cells)


def _array(context: Any, builder: Any, kind: types.Array, found: Any) -> Any:
    flags = builder.and_(_load(builder, found, _FLAGS, ir.IntType(32)), ir.IntType(32)(_PLAIN))
    with cgutils.if_unlikely(builder, builder.icmp_unsigned("!=", flags, ir.IntType(32)(_PLAIN))):
        context.call_conv.return_user_exc(builder, ValueError, ("an array is not contiguous",))
    shape = [_load(builder, _load(builder, found, _SHAPE), 8 * axis) for axis in range(kind.ndim)]
    strides = [_CELL(context.get_abi_sizeof(context.get_data_type(kind.dtype)))]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = context.make_array(kind)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(_load(builder, found, _DATA), array.data.type),
        shape=shape,
        strides=strides,
        itemsize=strides[-1],
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def _results(typing: Any, block: Any, result: Any) -> Any:
    """Put how many results there are into the block, and the results, whole numbers all."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = signature.args[1]
        if isinstance(kind, types.BaseTuple):
            found = [(builder.extract_value(values[1], number), each) for number, each in enumerate(kind)]
        else:
            found = [] if kind is types.none else [(values[1], kind)]
        numbers = [_CELL(len(found)), *(context.cast(builder, value, each, types.int64) for value, each in found)]
        for place, number in enumerate(numbers):
            builder.store(
                number, builder.inttoptr(builder.add(values[0], _CELL(8 * (RESULTS + place))), _CELL.as_pointer())
            )
        return context.get_dummy_value()

    return types.void(block, result), generate
