"""Writes the reference pages from the code (environment, error codes, a session's memory, the
command line, client, library, limits), and `llms.txt`, the list of all pages for language models.

python -m tests.documents.reference
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any

import palimpsest_client.cli.commands
import typer.main
from palimpsest import errors, settings
from palimpsest.api.problems import STATUS, title
from pydantic.fields import FieldInfo

from infra import paths
from tests.documents.interfaces import client, library
from tests.documents.limits import limits as most
from tests.documents.pages import in_order
from tests.documents.tables import HEAD, cell, table

FOLDER = paths.PROJECT / "docs" / "reference"
LIBRARY = paths.LAYERS / "core" / "python" / "palimpsest"
DESCRIPTION = paths.LAYERS / "description" / "python" / "palimpsest_description" / "openapi.json"
WITHIN_A_PROCESS = ("over_store.py",)
"""Their errors reach Python programs, and never a caller of the API."""
GRAPH = paths.LAYERS / "graph" / "python" / "palimpsest_graph"
CODES_OF_A_KIND = r"`([A-Z]\w+)`:? \(?((?:`[a-z_]+`[,\s]*(?:and |or )?)+)"
MEANINGS = {
    "auto_recall": "whether contexts offer the model a tool that searches memory",
    "blocks": "what a context holds of long-term memory, at most one block of each type",
    "count": "how many of the oldest messages leave at a time, in whole turns",
    "extract": "`auto` extracts after some turns and at the end, `manual` only when asked for",
    "extract_idle_seconds": "with `extract: auto`, after how many seconds without a message the rest is extracted; "
    "0 = never",
    "extraction_seconds": "how long a model may take to extract from one part of the session",
    "fold_at_least": "nothing is folded before so many messages can be, unless the window is full",
    "insert_into_system_prompt": "another name for `memory_as: system`",
    "keep_recent_turns": "how many of the newest turns stay in the window",
    "low_water_ratio": "the part of the budget that stays at most once messages leave; a low one lets a prompt "
    "cache serve the window for longer",
    "max_buffer_turns": "after how many turns `extract: auto` extracts",
    "max_memory_tokens": "the newest turns that fit into so many tokens stay",
    "max_records": "limits what the search tool returns, and each block of memories",
    "max_stm_token_ratio": "at which part of the budget the window is flushed",
    "max_summary_tokens": "how long a summary may be",
    "max_tokens": "the budget of a context",
    "memory_as": "where memory is in a context: with `split` before the conversation and before the newest "
    "user message, with `none` only in `memory_prompt`",
    "model": "derives `max_tokens` from this model's window",
    "reserve_tokens": "with `model`: tokens of its window that contexts leave free",
    "retention": "how long each kind of data of the session is kept",
    "summary_as": "where the summary is in a context",
    "summary_message_count": "how many messages stay, in whole turns; replaces `keep_recent_turns`",
    "summary_model": "the model that writes summaries, in place of the configured one",
    "summary_prompt": "the instruction for summaries, in place of ours",
    "trigger_ratio": "at which part of the budget messages are folded",
}
"""What the fields of a session's memory mean; each field must have an entry."""
STRATEGIES = ("Summarize", "Trim", "Delete", "Flush", "NoWindow")


def environment() -> str:
    """Every variable with its default, the functions that read it, and its meaning."""
    names = dict.fromkeys(
        name for model in settings.BY_FUNCTION.values() for name in model.model_fields
    )
    meanings = dict(meanings_of_variables())
    rows = [
        (f"`{name.upper()}`", default_by_function(name), readers_of(name), meanings[name])
        for name in names
    ]
    return (
        f"# Environment variables\n\n{HEAD} The stack sets these variables for its functions. A "
        "deployer chooses their values with `-c` ([Operations](../operations.md#deploy)). If a "
        "required variable is missing or a value is wrong, the function does not start, and its "
        "log names the variable. Programs that call the service need two other variables "
        "([The Python client](../client.md)).\n\n"
        f"{table(('variable', 'default', 'read by', 'meaning'), rows)}"
    )


def fields_of(variable: str) -> dict[str, FieldInfo]:
    """The field of a variable in the settings of each function that reads it."""
    return {
        function: model.model_fields[variable]
        for function, model in settings.BY_FUNCTION.items()
        if variable in model.model_fields
    }


def default_by_function(variable: str) -> str:
    """The default of a variable, and the functions that require it, unless all of them do."""
    fields = fields_of(variable)
    requiring = [f"`{function}`" for function in fields if fields[function].is_required()]
    defaults = {shown(field.default) for field in fields.values() if not field.is_required()}
    if not defaults:
        return "required"
    (default,) = defaults
    return f"{default}; required by {', '.join(requiring)}" if requiring else default


def readers_of(variable: str) -> str:
    """The functions that read a variable."""
    readers = fields_of(variable)
    if len(readers) == len(settings.BY_FUNCTION):
        return "every function"
    return ", ".join(f"`{function}`" for function in readers)


def meanings_of_variables() -> Iterator[tuple[str, str]]:
    """The text below the field of a variable, once for each variable."""
    for model in ast.parse(Path(settings.__file__).read_text(encoding="utf-8")).body:
        if isinstance(model, ast.ClassDef):
            for field, text in pairwise(model.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    yield ast.unparse(field.target), cell(ast.literal_eval(text.value))


def shown(default: Any) -> str:
    return f"`{default}`" if default not in ("", ()) else "empty"


def error_codes() -> str:
    """Every code with the status that it is answered with, and what such an answer says."""
    raised: dict[str, Raised] = {}
    for file in sorted([*LIBRARY.rglob("*.py"), *GRAPH.rglob("*.py")]):
        for error in (*raised_in(file), *named_in_docstrings(file)):
            known = raised.get(error.code)
            if known is None or not known.says:
                raised[error.code] = error
    for kind in kinds():
        if status := status_of(kind):
            raised.setdefault(kind.code, Raised(kind.code, status))
    raised["internal_error"] = Raised("internal_error", HTTPStatus.INTERNAL_SERVER_ERROR)
    rows = [
        (f"`{error.code}`", f"{error.status.value} {title(error.status)}", cell(error.says))
        for error in sorted(raised.values(), key=lambda error: (error.status, error.code))
    ]
    return (
        f"# Error codes\n\n{HEAD} [The API](../api.md#errors) explains problems. Of "
        "a flood of calls with an invalid key, the gateway answers most with 403 and without a code. "
        "The last column has an example of the answer's text, with `…` in place of names and numbers.\n\n"
        f"{table(('code', 'status', 'for example'), rows)}"
    )


@dataclass(frozen=True)
class Raised:
    """A code, the status that it is answered with, and what one of its answers says."""

    code: str
    status: HTTPStatus
    says: str = ""


def kinds() -> list[type[errors.PalimpsestError]]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.PalimpsestError)
    ]


def status_of(kind: type[errors.PalimpsestError]) -> HTTPStatus | None:
    return next((STATUS[base] for base in kind.__mro__ if base in STATUS), None)


def raised_in(file: Path) -> Iterator[Raised]:
    """The errors that a module makes, also by a function of its own that takes their code."""
    by_name = {kind.__name__: kind for kind in kinds()}
    package = next(folder for folder in (LIBRARY, GRAPH) if folder in file.parents)
    name = ".".join(file.relative_to(package.parent).with_suffix("").parts)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    makers = dict(makers_of(tree, by_name))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in makers and isinstance(node.args[0], ast.Constant):
            status = status_of(makers[node.func.id])
            if status:
                yield Raised(str(node.args[0].value), status, template(node.args[-1]))
        kind = by_name.get(node.func.id)
        status = status_of(kind) if kind else None
        if kind is None or status is None or not node.args:
            continue
        values = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        for code in codes_of(values[0], name) if values else [kind.code]:
            yield Raised(code, status, template(node.args[0]))


def makers_of(
    tree: ast.Module, by_name: Mapping[str, type[errors.PalimpsestError]]
) -> Iterator[tuple[str, type[errors.PalimpsestError]]]:
    """The functions whose first parameter is the code of the error that they return."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or not function.args.args:
            continue
        takes_code = function.args.args[0].arg == "code"
        returns = function.returns.id if isinstance(function.returns, ast.Name) else ""
        if takes_code and returns in by_name:
            yield function.name, by_name[returns]


def template(value: ast.expr) -> str:
    """A text as it is written, with `…` for what is put into it."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.JoinedStr):
        return "".join(template(part) for part in value.values)
    return "…" if isinstance(value, ast.FormattedValue) else ""


def named_in_docstrings(file: Path) -> Iterator[Raised]:
    """The codes that docstrings name after their error: "`Conflict` (`too_many_entities`)"."""
    by_name = {kind.__name__: kind for kind in kinds()}
    for kind, codes in re.findall(CODES_OF_A_KIND, file.read_text(encoding="utf-8")):
        status = status_of(by_name[kind]) if kind in by_name else None
        if status is not None:
            for code in re.findall("`([a-z]+_[a-z_]*[a-z])`", codes):
                yield Raised(code, status)


def codes_of(value: ast.expr, module: str) -> list[str]:
    """A code that is written out, or that a constant of the module has."""
    if isinstance(value, ast.Constant):
        return [str(value.value)]
    if isinstance(value, ast.Name) and value.id.isupper():
        return [getattr(importlib.import_module(module), value.id)]
    return []


def session_memory() -> str:
    """Every field of a session's memory configuration, by strategy."""
    schemas = json.loads(DESCRIPTION.read_text())["components"]["schemas"]
    common = set.intersection(*(set(schemas[name]["properties"]) for name in STRATEGIES))
    common -= {"strategy"}
    parts = [
        f"# A session's memory\n\n{HEAD} A session takes these fields as `memory`.\n",
        f"## Every strategy\n\n{fields(schemas['Summarize']['properties'], sorted(common))}",
    ]
    for name in STRATEGIES:
        properties = schemas[name]["properties"]
        strategy = properties["strategy"]
        own = [field for field in properties if field not in common | {"strategy"}]
        more = fields(properties, own) if own else "It has no fields of its own.\n"
        parts.append(f"## {strategy.get('const', strategy.get('default'))}\n\n{more}")
    return "\n".join(parts)


def fields(properties: Mapping[str, Any], names: Iterable[str]) -> str:
    rows = [
        (
            f"`{name}`",
            default_of(properties[name].get("description", "")),
            limits(properties[name]),
            MEANINGS[name],
        )
        for name in names
    ]
    return table(("field", "default", "values", "meaning"), rows)


def default_of(description: str) -> str:
    """A description ends with the default, where the field has one."""
    default = cell(description.partition("Default: ")[2])
    return f"`{default}`" if default else ""


def limits(schema: Mapping[str, Any]) -> str:
    """A field's type, with its choices or bounds."""
    parts = [limits(part) for part in schema.get("anyOf", schema.get("oneOf", ()))]
    if parts:
        return " or ".join(dict.fromkeys(filter(None, parts)))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    bounds = [
        f"{word} {number(schema[key])}"
        for key, word in (
            ("minimum", "from"),
            ("exclusiveMinimum", "over"),
            ("maximum", "to"),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    return " ".join((str(schema.get("type", schema.get("const", "object"))), *bounds))


def number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else str(value)


def command_line() -> str:
    """Every command with its options."""
    parts = [f"# Command line\n\n{HEAD} `palimpsest COMMAND --help` shows more.\n"]
    group: Any = typer.main.get_command(palimpsest_client.cli.commands.app)
    for name, command in sorted(group.commands.items()):
        rows = [
            (f"`{max(option.opts, key=len)}`", cell(getattr(option, "help", None) or ""))
            for option in command.params
            if not getattr(option, "hidden", False)
        ]
        parts.append(
            f"## {name}\n\n{cell(command.help or '')}\n\n{table(('option', 'meaning'), rows)}"
        )
    return "\n".join(parts)


PAGES = {
    "environment.md": environment,
    "errors.md": error_codes,
    "session-memory.md": session_memory,
    "command-line.md": command_line,
    "client.md": client,
    "library.md": library,
    "limits.md": most,
}


LLMS = FOLDER.parent / "llms.txt"


def llms() -> str:
    """The pages of the navigation with their titles, in the form of llms.txt."""
    titles = [
        (page, (FOLDER.parent / page).read_text(encoding="utf-8").splitlines()[0].lstrip("# "))
        for page in in_order()
        if page != "index.md"
    ]
    links = "\n".join(f"- [{title}]({page.removesuffix('.md')}.html)" for page, title in titles)
    return (
        "# Palimpsest\n\n> Agent memory as a serverless service on AWS: contexts that fit a model's "
        f"window, and what is known of a user.\n\n## Pages\n\n{links}\n"
    )


def main() -> None:
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
    LLMS.write_text(llms(), encoding="utf-8")


if __name__ == "__main__":
    main()
