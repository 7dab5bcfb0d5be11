"""Rules of types for what kernels do most, which numba tries before its own.

numba asks one rule after the other, those of this CPU first: for an element of an array it would
first ask seven for strings, lists and dictionaries, twice each; and it would compile a function for
every pair of types that `max` and `min` are called with. The answers are those of numba's rules.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import imputils, types
from numba.core.typing import arraydecl, builtins, templates
from numba.cpython import builtins as lowering

_FIRST = {"target": "cpu"}
_infer: Any = templates.infer_global
_lower: Any = imputils.lower_builtin
_Rule: Any = templates.AbstractTemplate
_signature: Any = templates.signature
_do_minmax: Any = lowering.do_minmax

for _function, _rule in (
    (operator.getitem, arraydecl.GetItemBuffer),
    (operator.setitem, arraydecl.SetItemBuffer),
    (bool, builtins.Bool),
):
    _infer(_function)(type(_rule.__name__, (_rule,), {"metadata": _FIRST}))


class _Larger(_Rule):  # type: ignore[misc]
    """The larger or smaller of two numbers."""

    metadata = _FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) != 2 or not all(isinstance(arg, types.Number) for arg in args):
            return None
        return _signature(self.context.unify_types(*args), *args)


def _larger(function: Any, comparison: Any) -> None:
    _infer(function)(type(function.__name__, (_Larger,), {}))

    @_lower(function, types.Number, types.Number)
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _do_minmax(context, builder, signature.args, args, comparison)


_larger(max, operator.gt)
_larger(min, operator.lt)


def add_operator(function: Any, operand: Any, method: str) -> None:
    """Let a Python operator act on two values of one type, by a method of LLVM's builder."""

    class Rule(templates.ConcreteTemplate):
        metadata = _FIRST
        cases = (_signature(operand, operand, operand),)

    _infer(function)(Rule)

    @_lower(function, operand, operand)
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return getattr(builder, method)(*args)
