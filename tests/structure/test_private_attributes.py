"""No module reaches into the private attributes of objects that another module defines."""

from __future__ import annotations

import ast

import pytest
from structure.imports import PACKAGES, ROOT, module_files

# Documented methods of named tuples: the underscore only keeps them apart from fields.
NAMED_TUPLE = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}

# Attributes of other libraries without a public counterpart, and the modules that may use them.
THIRD_PARTY = {
    "_SubParsersAction": "swnn_xp.cli",  # argparse: the type that add_subparsers returns
    "_ArgumentGroup": "swnn_xp.cli",  # argparse: the type that add_argument_group returns
    "_group_actions": "swnn_xp.cli.inputs",  # argparse: the options of a group
    "_indices": "swnn_xp",  # torch: indices() refuses a tensor with repeats
    "_values": "swnn_xp",  # torch: as _indices
    "_MetadataRequester": "swnn_xp.sklearn_api",  # scikit-learn: makes set_fit_request and others
    "_cache": "swnn_kernels._numba",  # numba, behind the fence
    "_cache_file": "swnn_kernels._numba",
    "_source_stamp": "swnn_kernels._numba",
    "_getvalue": "swnn_kernels._numba",
}

GETTERS = {"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"}


def test_no_private_attribute_of_another_module_is_used():
    broken = [
        f"{path.relative_to(ROOT)}:{line}: {expression}"
        for name, path in module_files().items()
        for line, attribute, expression in private_uses(ast.parse(path.read_text()))
        if not is_allowed(attribute, name)
    ]
    assert not broken, "\n".join(["", *broken])


def test_every_exception_is_needed():
    used = {
        attribute
        for path in module_files().values()
        for _, attribute, _ in private_uses(ast.parse(path.read_text()))
    }
    assert set(THIRD_PARTY) <= used


def is_allowed(attribute, module):
    """Whether the table of exceptions allows a module to use a private attribute."""
    owner = THIRD_PARTY.get(attribute)
    return owner is not None and f"{module}.".startswith(f"{owner}.")


def private_uses(tree):
    """Line, name and text of each use of a private attribute that the module does not define."""
    defined = definitions(tree)
    for node in ast.walk(tree):
        for attribute in used_names(node):
            if is_private(attribute) and attribute not in defined:
                yield node.lineno, attribute, ast.unparse(node)


def used_names(node):
    """Attributes that a node looks up on something other than its own object or class."""
    if isinstance(node, ast.Attribute) and not is_own(node.value):
        return [node.attr]
    if isinstance(node, ast.ImportFrom):
        return [name.name for name in node.names]
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in GETTERS:
        texts = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        return [part for text in texts if isinstance(text, str) for part in text.split(".")]
    return []


def is_own(value):
    return ast.unparse(value) in ("self", "cls", "type(self)", "super()")


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLE


def definitions(tree):
    """Private names that a module defines: in its classes, on ``self``, and at its top."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names |= {node.attr} if is_own(node.value) else set()
        if isinstance(node, ast.ClassDef):
            targets = [
                getattr(part, "targets", [getattr(part, "target", None)]) for part in node.body
            ]
            names |= {name.id for some in targets for name in some if isinstance(name, ast.Name)}
    return names


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("clf._model", ["_model"]),
        ("made._model = model", ["_model"]),
        ("type(clf)._params", ["_params"]),
        ("self.clf._model", ["_model"]),
        ("getattr(clf, '_model')", ["_model"]),
        ("operator.attrgetter('_model.labels')(clf)", ["_model"]),
        ("from swnn_xp.search import _chosen_ids", ["_chosen_ids"]),
        ("self._x, cls._x, type(self)._x, super()._x", []),
        ("rows._replace(n=1), Rows._fields, clf.__dict__", []),
        ("class A:\n    _x: int = 0\na._x", []),
        ("class A:\n    def f(self):\n        self._x = 1\na._x", []),
        ("class A:\n    def f(self, other):\n        other._x = 1", ["_x"]),
    ],
)
def test_the_scan_sees_uses(text, found):
    assert [name for _, name, _ in private_uses(ast.parse(text))] == found


def test_exceptions_hold_only_where_they_are_listed():
    assert is_allowed("_indices", "swnn_xp.rows.input_kind")
    assert not is_allowed("_source_stamp", "swnn_xp.learn.train")
    assert not is_allowed("_model", "swnn_xp.cli.fit")
    assert set(PACKAGES) >= {owner.split(".")[0] for owner in THIRD_PARTY.values()}
