"""The parts of the site generated from code: command-line help, figures."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_pictures


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _make)
    app.connect("source-read", _without_last_blank_line)
    return {"parallel_read_safe": True}


def _make(app: Any) -> None:
    folder = Path(app.srcdir, "generated")
    folder.mkdir(exist_ok=True)
    _write(folder / "cli.inc", "\n".join(_commands()))
    _write(folder / "more.inc", "\n".join(_more_pages(Path(app.srcdir))))
    make_pictures.make(folder / "plots", make_pictures.outdated(folder / "plots"))


def _write(path: Path, text: str) -> None:
    """Write a file only if its text changes: Sphinx rereads files that are newer."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _commands() -> Iterator[str]:
    """Each command as a section: usage, description, options as lists, examples."""
    from swnn_xp.cli.main import make_parser

    parser = make_parser()
    choices = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    summaries = {action.dest: action.help for action in choices._choices_actions}
    yield from ("| command | what it does |", "|---|---|")
    for name in choices.choices:
        yield f"| [`swnn {name}`](#swnn-{name}) | {summaries[name]} |"
    yield ""
    for name, command in choices.choices.items():
        yield from _command(f"swnn {name}", command)


def _command(title: str, command: argparse.ArgumentParser) -> Iterator[str]:
    yield from (f"## {title}", "")
    yield from _prose(command.description or "")
    yield from ("```text", _usage(command), "```", "")
    for group in command._action_groups:
        actions = [a for a in group._group_actions if a.help != argparse.SUPPRESS]
        actions = [a for a in actions if a.option_strings != ["-h", "--help"]]
        if actions:
            heading = {"positional arguments": "Arguments"}.get(group.title or "", group.title)
            yield from (f"**{str(heading).capitalize()}**", "")
            for action in actions:
                yield from (f"{_names(action)}", f": {_help(action, command)}", "")
    if command.epilog and command.epilog.split() != ["example:", *_usage(command).split()]:
        yield from _prose(command.epilog)


def _usage(command: argparse.ArgumentParser) -> str:
    """What a call needs; all options are listed below it."""
    groups = [group for group in command._mutually_exclusive_groups if group.required]
    needed = [_written(a) for a in command._actions if a.option_strings and a.required]
    needed += ["(" + " | ".join(map(_written, group._group_actions)) + ")" for group in groups]
    marks = {"*": "[{} ...]", "+": "{} [{} ...]", "?": "[{}]"}
    names = [
        marks.get(str(a.nargs), "{}").replace("{}", str(a.metavar or a.dest))
        for a in command._actions
        if not a.option_strings and a.help != argparse.SUPPRESS
    ]
    has_options = sum(bool(a.option_strings) for a in command._actions) > 1  # more than --help
    return " ".join([command.prog, *needed, *["[options]"] * has_options, *names])


def _written(action: argparse.Action) -> str:
    """An option in its shortest form, with its argument."""
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return action.option_strings[0] + value


def _marked(text: str) -> str:
    """Markdown without accidents: options are code, and other signs are themselves."""
    parts = re.split(r"(?<![\w`-])(--[a-z][\w-]*|`[^`]*`)", text)
    plain = [re.sub(r"([<>*_$\\])", r"\\\1", part) for part in parts[::2]]
    code = [f"`{part.strip('`')}`" for part in parts[1::2]] + [""]
    return "".join(a + b for a, b in zip(plain, code, strict=True))


def _names(action: argparse.Action) -> str:
    """An option as it is written, with its argument."""
    value = "" if action.nargs == 0 else action.metavar or action.dest.upper()
    value = " ".join(value) if isinstance(value, tuple) else value
    if action.choices and action.option_strings:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return f"`{action.metavar or action.dest}`"
    return ", ".join(f"`{name} {value}`".replace(" `", "`") for name in action.option_strings)


def _help(action: argparse.Action, command: argparse.ArgumentParser) -> str:
    formatter = command._get_formatter()
    return _marked(formatter._expand_help(action)) if action.help else ""


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; a block of indented or aligned lines stays as it is."""
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        if not block:
            continue
        if lines[0].lstrip().startswith("{") or any(line.startswith("  ") for line in lines):
            kept = lines[1:] if lines[0].endswith(":") else lines
            if kept is not lines:
                yield from (lines[0][0].upper() + lines[0][1:], "")
            yield from ("```text", *(line.removeprefix("  ") for line in kept), "```", "")
        else:
            yield from (_marked(" ".join(lines)), "")


def _more_pages(folder: Path) -> Iterator[str]:
    """Link the top-level pages that no other page links to, so that none is orphaned."""
    listed = {"index", "start", "performance", "limits"}
    listed |= {"gpu", "cluster", "serving", "promises", "glossary"}
    found = sorted({page.stem for page in folder.glob("*.md")} - listed)
    if found:
        yield from ("```{toctree}", "", *(f"/{name}" for name in found), "```", "")


def _without_last_blank_line(app: Any, page: str, source: list[str]) -> None:
    """Drop the blank line before a closing fence: doctest needs it, readers do not."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)
