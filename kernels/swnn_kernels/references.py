"""Records of arrays as compiled code takes them: one pointer to a table of addresses.

Handing a record over as a tuple would make every function one of hundreds of arguments, slow to
compile, and every call from Python unpack all of its arrays. A `table` holds the address and size
of each array instead; kernels open it with an opener and read `record.field` as usual.
"""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import numpy as np
from llvmlite import ir
from numba import extending, from_dtype
from numba.core import imputils, types
from numba.core.typing import templates
from numba.extending import models, register_model
from numba.np import arrayobj

# numba's own functions are not annotated.
intrinsic: Any = extending.intrinsic
_lower_fields: Any = imputils.lower_getattr_generic
_Attributes: Any = templates.AttributeTemplate
_infer: Any = templates.infer_getattr
_populate: Any = arrayobj.populate_array

_I64 = ir.IntType(64)
_WORDS = 2  # of a field in a table: address and size, or a number and nothing


def _array_type(hint: Any) -> Any:
    """Numba's type of an annotated array; None for a plain number."""
    for dtype in get_args(hint)[1:]:
        return types.Array(from_dtype(np.dtype(dtype)), 1, "C")
    return None


class Reference(types.Type):
    """Type of a pointer to the table of a record."""

    def __init__(self, record: Any) -> None:
        hints = get_type_hints(record, include_extras=True)
        self.fields = {name: (place, _array_type(hints[name]))
                       for place, name in enumerate(record._fields)}  # fmt: skip
        super().__init__(name=f"Reference[{record.__name__}]")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Reference) -> None:
        super().__init__(manager, fe_type, _I64.as_pointer())  # type: ignore[no-untyped-call]


@_infer
class _Fields(_Attributes):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, value: Reference, attribute: str) -> Any:
        if attribute not in value.fields:
            return None
        kind = value.fields[attribute][1]
        return types.int64 if kind is None else kind


@_lower_fields(Reference)
def _read_field(context: Any, builder: Any, kind: Any, pointer: Any, attribute: str) -> Any:
    place, array_type = kind.fields[attribute]

    def word(offset: int, pointed: Any) -> Any:
        address = builder.gep(pointer, [ir.Constant(_I64, _WORDS * place + offset)])
        loaded = builder.load(builder.bitcast(address, pointed.as_pointer()))
        # A table never changes, so a load may move out of loops that write elsewhere.
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if array_type is None:
        return word(0, _I64)
    array = context.make_array(array_type)(context, builder)
    item = ir.Constant(_I64, array_type.dtype.bitwidth // 8)
    _populate(
        array, data=word(0, array.data.type), shape=[word(1, _I64)], strides=[item],
        itemsize=item, meminfo=None,
    )  # fmt: skip
    return array._getvalue()


def opener(record: Any) -> Any:
    """Make a function for kernels that turns a table into a record of this class."""
    kind: Any = Reference(record)

    @intrinsic
    def open_table(typing: Any, addresses: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return kind(addresses), generate

    return open_table


def table(record: Any) -> np.ndarray:
    """Addresses and sizes of a record's arrays; valid only while the record is kept."""
    words = np.zeros((len(record), _WORDS), dtype=np.int64)
    hints = get_type_hints(type(record), include_extras=True)
    for place, (name, value) in enumerate(zip(record._fields, record, strict=True)):
        dtypes = get_args(hints[name])[1:]
        if not dtypes:
            words[place, 0] = value
            continue
        if value.dtype != dtypes[0] or value.ndim != 1 or not value.flags.c_contiguous:
            raise TypeError(f"{name} must be a contiguous array of {dtypes[0].__name__}")
        words[place] = value.ctypes.data, value.size
    words.flags.writeable = False
    return words.reshape(-1)
