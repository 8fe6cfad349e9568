"""Single machine instructions that numba does not offer: bit gathering, atomics on array elements, prefetch.

Each is ten lines of LLVM. `pext` has a portable twin for processors without BMI2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from highwater.explorer.kernels.making.compiling import inlined
from highwater.explorer.kernels.making.targets import has

HAS_PEXT = has("bmi2")
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inlined
def gather_bits(value: int, mask: int) -> int:
    """The bits of `value` that `mask` selects, packed at the low end."""
    packed, position = _ZERO, _ZERO
    while mask:
        lowest = mask & (~mask + _ONE)
        if value & lowest:
            packed |= _ONE << position
        position += _ONE
        mask &= mask - _ONE
    return packed


@intrinsic
def _pext(typing: Any, value: Any, mask: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, word]), "llvm.x86.bmi.pext.64"
        )
        return builder.call(function, arguments)

    return types.uint64(types.uint64, types.uint64), generate


pext = _pext if HAS_PEXT else gather_bits


@intrinsic
def lowest_bit(typing: Any, value: Any) -> Any:
    """The position of the lowest bit that is set in a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def count_bits(typing: Any, value: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    made = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, made, [position], wraparound=False)


@intrinsic
def swap_if(typing: Any, array: Any, position: Any, expected: Any, replacement: Any) -> Any:
    """Put `replacement` into an element if it holds `expected`, atomically; returns what it held."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.extract_value(builder.cmpxchg(pointer, arguments[2], arguments[3], "acq_rel", "acquire"), 0)

    return array.dtype(array, types.uint64, array.dtype, array.dtype), generate


@intrinsic
def fetch_add(typing: Any, array: Any, position: Any, amount: Any) -> Any:
    """Add to an element atomically; returns what it held before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.atomic_rmw("add", pointer, arguments[2], "acq_rel")

    return array.dtype(array, types.uint64, array.dtype), generate


@intrinsic
def load(typing: Any, array: Any, position: Any) -> Any:
    """Read an element that another thread may be writing; what it wrote before is then visible."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        element = context.get_data_type(signature.return_type)
        return builder.load_atomic(pointer, "acquire", signature.return_type.bitwidth // 8, typ=element)

    return array.dtype(array, types.uint64), generate


@intrinsic
def word_at(typing: Any, array: Any, position: Any) -> Any:
    """The eight bytes of a flat array of bytes from a position on, as a word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(array, types.uint64), generate


@intrinsic
def put_half_word(typing: Any, array: Any, position: Any, value: Any) -> Any:
    """Write the lower half of a word into four bytes of a flat array of bytes from a position on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, half = _pointer(context, builder, signature.args[0], arguments[0], arguments[1]), ir.IntType(32)
        builder.store(builder.trunc(arguments[2], half), builder.bitcast(pointer, half.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.uint64), generate


@intrinsic
def prefetch_at(typing: Any, array: Any, position: Any) -> Any:
    """Ask for the memory of where a row of an array begins."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        row = [arguments[1], ir.Constant(ir.IntType(64), 0)]
        pointer = cgutils.get_item_pointer(context, builder, signature.args[0], made, row, wraparound=False)
        return _ask_for(context, builder, pointer)

    return types.void(array, types.uint64), generate


@intrinsic
def prefetch(typing: Any, array: Any, position: Any) -> Any:
    """Ask for the memory of an element of a flat array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], arguments[0], arguments[1])
        return _ask_for(context, builder, pointer)

    return types.void(array, types.uint64), generate


def _ask_for(context: Any, builder: Any, place: Any) -> Any:
    pointer, number = builder.bitcast(place, ir.IntType(8).as_pointer()), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [pointer, number(0), number(3), number(1)])
    return context.get_dummy_value()
