"""What LLVM has and numba does not: bit casts, bit counts, prefetching and vectors.

LLVM does not vectorise the kernels' loops by itself (too many pointers to prove apart), so they are
written with vectors as values, which LLVM splits where a CPU has shorter registers: `Words` (eight
uint64 used as 512 bits), `Floats` (eight float32) and `Ints` (eight int32). `&`, `|`, `^`, `+`, `-`
and `*` work between two of a kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types
from numba.extending import models, register_model

from swnn_kernels._numba.first_rules import add_operator

intrinsic: Any = extending.intrinsic  # its annotations do not know that it removes an argument
_declare: Any = cgutils.get_or_insert_function
_I64, _I32, _I16, _I8 = (ir.IntType(bits) for bits in (64, 32, 16, 8))


def _address_of(
    context: Any, builder: Any, array_type: Any, array: Any, index: Any, to: Any
) -> Any:
    """Pointer to an element of a one-dimensional array, as a pointer to something else."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), to.as_pointer())


@intrinsic
def float_bits(typing: Any, value: Any) -> Any:
    """Bits of a float32; of positive numbers they rise with the number."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], _I32)

    return types.uint32(types.float32), generate


@intrinsic
def bits_to_float(typing: Any, value: Any) -> Any:
    """Make the float32 of these bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.uint32), generate


@intrinsic
def half_to_float(typing: Any, value: Any) -> Any:
    """Make the float32 whose upper half a uint16 is."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.shl(builder.zext(args[0], _I32), ir.Constant(_I32, 16))
        return builder.bitcast(bits, ir.FloatType())

    return types.float32(types.uint16), generate


def _bit_counter(llvm_name: str, *flags: int) -> Any:
    """Make an intrinsic that counts bits of an int64."""
    constants = [ir.Constant(ir.IntType(1), flag) for flag in flags]

    @intrinsic
    def count(typing: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            signature_type = ir.FunctionType(_I64, [_I64, *(flag.type for flag in constants)])
            function = _declare(builder.module, signature_type, llvm_name)
            return builder.call(function, [args[0], *constants])

        return types.int64(types.int64), generate

    return count


leading_zeros = _bit_counter("llvm.ctlz.i64", 0)
trailing_zeros = _bit_counter("llvm.cttz.i64", 0)
count_ones = _bit_counter("llvm.ctpop.i64")


@intrinsic
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for a cache line before it is needed; an address out of bounds does no harm."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _address_of(context, builder, signature.args[0], args[0], args[1], _I8)
        signature_type = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
        function = _declare(builder.module, signature_type, "llvm.prefetch.p0")
        builder.call(function, [address, *(ir.Constant(_I32, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


class Vector(types.Type):
    """Type of a vector in compiled code."""

    def __init__(self, name: str, lane: Any, lanes: int) -> None:
        self.llvm = ir.VectorType(lane, lanes)
        super().__init__(name=name)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Vector) -> None:
        super().__init__(manager, fe_type, fe_type.llvm)  # type: ignore[no-untyped-call]


_make: Any = Vector
Words = _make("Words", _I64, 8)
Floats = _make("Floats", ir.FloatType(), 8)
Ints = _make("Ints", _I32, 8)


def _splat(builder: Any, value: Any, vector: ir.VectorType) -> Any:
    start = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(start, start, zeros)


def _loader(result: Vector, stored: ir.VectorType, widen: Callable[[Any, Any], Any]) -> Any:
    """Make an intrinsic (array, index) -> vector, read unaligned and widened."""

    @intrinsic
    def load(typing: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address_of(context, builder, signature.args[0], args[0], args[1], stored)
            return widen(builder, builder.load(address, align=1))

        return result(array, types.intp), generate

    return load


def _from_bytes(builder: Any, value: Any) -> Any:
    return builder.uitofp(builder.zext(value, Ints.llvm), Floats.llvm)


def _from_high_halves(builder: Any, value: Any) -> Any:
    shift = ir.Constant(Ints.llvm, [16] * 8)
    return builder.bitcast(builder.shl(builder.zext(value, Ints.llvm), shift), Floats.llvm)


load_words = _loader(Words, Words.llvm, lambda builder, value: value)
"""Eight uint64 at an index of a uint64 array."""
load_floats = _loader(Floats, Floats.llvm, lambda builder, value: value)
"""Eight float32."""
load_bytes = _loader(Floats, ir.VectorType(_I8, 8), _from_bytes)
"""Eight uint8 as float32."""
load_counts = _loader(Floats, Ints.llvm, lambda builder, value: builder.sitofp(value, Floats.llvm))
"""Eight int32 as float32."""
load_short_floats = _loader(Floats, ir.VectorType(_I16, 8), _from_high_halves)
"""Eight uint16, the upper halves of float32."""


def _accumulator_half(take: int, then: Callable[[Any, Any], Any]) -> Any:
    """Make an intrinsic that reads eight int64 and takes the lower or upper halves."""
    order = ir.Constant(Ints.llvm, [take + 2 * lane for lane in range(8)])

    def widen(builder: Any, value: Any) -> Any:
        low = builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), order)
        return builder.sitofp(then(builder, low), Floats.llvm)

    return _loader(Floats, ir.VectorType(_I32, 16), widen)


load_overlaps = _accumulator_half(
    0, lambda builder, value: builder.and_(value, ir.Constant(Ints.llvm, [0xFFFF] * 8))
)
"""Overlaps of eight packed accumulators as float32."""
load_dots = _accumulator_half(
    1, lambda builder, value: builder.add(value, ir.Constant(Ints.llvm, [1] * 8))
)
"""Dots of eight packed accumulators as float32, in units of 2**16 and rounded up."""


def _storer(vector: Vector) -> Any:
    @intrinsic
    def store(typing: Any, array: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address_of(
                context, builder, signature.args[0], args[0], args[1], vector.llvm
            )
            builder.store(args[2], address, align=1)
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), generate

    return store


store_words = _storer(Words)
store_floats = _storer(Floats)


@intrinsic
def splat(typing: Any, value: Any) -> Any:
    """Eight times the same float32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], Floats.llvm)

    return Floats(types.float32), generate


@intrinsic
def splat_words(typing: Any, value: Any) -> Any:
    """Eight times the same uint64."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[0], Words.llvm)

    return Words(types.uint64), generate


def _shifter(method: str, bits: int) -> Any:
    @intrinsic
    def shift(typing: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, method)(args[0], ir.Constant(Words.llvm, [bits] * 8))

        return Words(Words), generate

    return shift


left = {bits: _shifter("shl", bits) for bits in (1, 2, 4)}
right = {bits: _shifter("lshr", bits) for bits in (1, 2, 4)}


for _function, _method in ((operator.and_, "and_"), (operator.or_, "or_"), (operator.xor, "xor")):
    add_operator(_function, Words, _method)
for _function, _method in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):
    add_operator(_function, Floats, _method)


def _compare_and_select(predicate: str) -> Any:
    @intrinsic
    def choose(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.select(builder.fcmp_ordered(predicate, *args), *args)

        return Floats(Floats, Floats), generate

    return choose


larger = _compare_and_select(">")


@intrinsic
def divide(typing: Any, a: Any, b: Any) -> Any:
    """Quotients of eight float32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fdiv(*args)

    return Floats(Floats, Floats), generate


@intrinsic
def at_least(typing: Any, a: Any, b: Any) -> Any:
    """Which of eight lanes have a >= b, as the bits of a uint8."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.fcmp_ordered(">=", *args), _I8)

    return types.uint8(Floats, Floats), generate
