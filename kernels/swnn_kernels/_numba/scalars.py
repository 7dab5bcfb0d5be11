"""Bit casts and bit counts of scalars, and prefetching, as LLVM has them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

intrinsic: Any = extending.intrinsic  # its annotations do not know that it removes an argument
_declare: Any = cgutils.get_or_insert_function
_I64, _I32, _I8 = (ir.IntType(bits) for bits in (64, 32, 8))


def address_of(context: Any, builder: Any, array_type: Any, array: Any, index: Any, to: Any) -> Any:
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
        address = address_of(context, builder, signature.args[0], args[0], args[1], _I8)
        signature_type = ir.FunctionType(ir.VoidType(), [address.type, _I32, _I32, _I32])
        function = _declare(builder.module, signature_type, "llvm.prefetch.p0")
        builder.call(function, [address, *(ir.Constant(_I32, value) for value in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate
