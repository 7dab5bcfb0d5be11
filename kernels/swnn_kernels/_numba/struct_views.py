"""Struct views: compiled code takes a record of arrays as one pointer to a table of addresses.

Handing a record over as a tuple would make every function one of hundreds of arguments, slow to
compile, and every call from Python unpack all of its arrays. A `table` holds the address and size
of each array instead; a kernel turns it into a struct view and reads `view.field` as usual. A field
may itself be the table of a record: then `view.field` is a view too, and one table is all that a
kernel needs as an argument. The annotations of the record say what its fields hold: arrays with a
dtype, numbers, other records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

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
Record = TypeVar("Record")


class Table(Generic[Record]):
    """The table of a record, as an annotation: at run time it is an array of words."""


_WORDS = 2  # of a field in a table: address and size of an array, or a number and nothing


class _Field(NamedTuple):
    """One field of a record."""

    name: str
    dtype: Any  # of an array; None for a number or a record
    is_float: bool
    record: Any  # class of a record; None for the others


@cache
def _cached_fields(record: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(_field(name, hints[name]) for name in record._fields)


def _field(name: str, hint: Any) -> _Field:
    dtype = (get_args(hint)[1:] or (None,))[0]
    return _Field(name, dtype, hint is float, hint if hasattr(hint, "_fields") else None)


def _fields_of(record: Any) -> tuple[_Field, ...]:
    """Fields of a NamedTuple class in their order."""
    return _cached_fields(record)  # a call of the cache itself is not typed for classes


def _check_arrays(record: Any) -> None:
    """Raise TypeError unless every array of a record is what its annotation says."""
    for field, value in zip(_fields_of(type(record)), record, strict=True):
        if field.dtype is None:
            continue
        if value.dtype != field.dtype or value.ndim != 1 or not value.flags.c_contiguous:
            name = np.dtype(field.dtype).name
            raise TypeError(f"{field.name} must be a contiguous array of {name}")


def _type_of(field: _Field) -> Any:
    """Numba's type of a field."""
    if field.dtype is not None:
        return types.Array(from_dtype(np.dtype(field.dtype)), 1, "C")
    if field.record is not None:
        return _view_of(field.record)
    return types.float64 if field.is_float else types.int64


class StructView(types.Type):
    """Type of a pointer to the table of a record."""

    def __init__(self, record: Any) -> None:
        self.fields = {
            field.name: (slot, _type_of(field)) for slot, field in enumerate(_fields_of(record))
        }
        super().__init__(name=f"StructView[{record.__module__}.{record.__name__}]")


def _view_of(record: Any) -> Any:
    return StructView(record)


@register_model(StructView)
class _StructViewModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: StructView) -> None:
        super().__init__(manager, fe_type, _I64.as_pointer())  # type: ignore[no-untyped-call]


@_infer
class _Fields(_Attributes):  # type: ignore[misc]
    key = StructView

    def generic_resolve(self, value: StructView, attribute: str) -> Any:
        return value.fields[attribute][1] if attribute in value.fields else None


@_lower_fields(StructView)
def _read_field(context: Any, builder: Any, view: Any, pointer: Any, attribute: str) -> Any:
    slot, field_type = view.fields[attribute]

    def word(offset: int, pointed: Any) -> Any:
        address = builder.gep(pointer, [ir.Constant(_I64, _WORDS * slot + offset)])
        loaded = builder.load(builder.bitcast(address, pointed.as_pointer()))
        # A table never changes, so a load may move out of loops that write elsewhere.
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if not isinstance(field_type, types.Array):
        return word(0, context.get_value_type(field_type))
    array = context.make_array(field_type)(context, builder)
    item = ir.Constant(_I64, field_type.dtype.bitwidth // 8)
    _populate(
        array, data=word(0, array.data.type), shape=[word(1, _I64)], strides=[item],
        itemsize=item, meminfo=None,
    )  # fmt: skip
    return array._getvalue()


def struct_view(record: type[Record]) -> Callable[[Table[Record]], Record]:
    """Make a function for kernels that turns a table into a view of a record of this class."""
    view_type: Any = StructView(record)

    @intrinsic
    def open_table(typing: Any, addresses: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, args[0]).data

        return view_type(addresses), generate

    opened: Callable[[Table[Record]], Record] = open_table
    return opened


class _Words:
    """The words of a table and the record whose addresses they are: the base of the table."""

    def __init__(self, words: np.ndarray, record: Any) -> None:
        self.words, self.record = words, record
        self.__array_interface__ = words.__array_interface__


def table(record: Any) -> Any:
    """Addresses and sizes of a record's arrays and tables.

    The table keeps the record alive: whoever holds an address holds what it points to.
    """
    _check_arrays(record)
    words = np.zeros((len(record), _WORDS), dtype=np.int64)
    for slot, (field, value) in enumerate(zip(_fields_of(type(record)), record, strict=True)):
        if field.dtype is not None or field.record is not None:
            words[slot] = value.ctypes.data, value.size
        elif field.is_float:
            words[slot, :1].view(np.float64)[0] = value
        else:
            words[slot, 0] = value
    words.flags.writeable = False
    return np.asarray(_Words(words.reshape(-1), record))
