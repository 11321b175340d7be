"""Reads calls of AWS's command line by botocore's models of the services, as that program does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.exceptions import UnknownServiceError
from botocore.validate import ParamValidator

GENERAL = {"--query", "--output", "--region", "--profile"}
"""Options of every command. Each takes one word."""


@dataclass(frozen=True, slots=True)
class AwsCall:
    """A call of a service: the name of the method of boto3's client, and its parameters."""

    service: str
    method: str
    parameters: dict[str, Any]


def read(words: Sequence[str]) -> AwsCall:
    """Return the call that the words after `aws` make.

    Raises ValueError if the service has no such operation, or if the operation lacks a parameter
    that it requires, has none of that name, or does not take that value.
    """
    service, command, *rest = words
    try:
        model = botocore.session.get_session().get_service_model(service)
    except UnknownServiceError as error:
        raise ValueError(f"there is no service {service}") from error
    named = {xform_name(name, "-"): name for name in model.operation_names}
    if command not in named:
        raise ValueError(f"{service} has no operation {command}")
    shape: Any = model.operation_model(named[command]).input_shape
    parameters = {
        name: value
        for option, values in _options(rest)
        if option not in GENERAL
        for name, value in [_parameter(shape, option, values)]
    }
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        raise ValueError(f"{service} {command}: {report.generate_report()}")
    return AwsCall(service, xform_name(named[command]), parameters)


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each option with the words that follow it."""
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    if starts[:1] != [0] and words:
        raise ValueError(f"{words[0]} belongs to no option")
    for begin, end in zip(starts, [*starts[1:], len(words)], strict=True):
        yield words[begin], list(words[begin + 1 : end])


def _parameter(shape: Any, option: str, values: list[str]) -> tuple[str, Any]:
    members = {f"--{xform_name(name, '-')}": name for name in shape.members}
    positive = option.replace("--no-", "--", 1)
    name = members.get(option) or members.get(positive)
    if name is None:
        raise ValueError(f"{shape.name} has no {option}")
    member = shape.members[name]
    if member.type_name == "boolean" and not values:
        return name, option in members
    if member.type_name == "list":
        return name, [_value(member.member, value) for value in values]
    if len(values) != 1 or option not in members:
        raise ValueError(f"{option} takes one word")
    return name, _value(member, values[0])


def _value(shape: Any, text: str) -> Any:
    if shape.type_name in ("integer", "long"):
        return int(text)
    if shape.type_name in ("float", "double"):
        return float(text)
    return _structure(shape, text) if shape.type_name == "structure" else text


def _structure(shape: Any, text: str) -> dict[str, Any]:
    """Return a structure that is written as `Key=service,Values=one,two`."""
    fields: dict[str, list[str]] = {}
    for part in text.split(","):
        name, is_named, value = part.partition("=")
        if is_named:
            fields[name] = [value]
        elif fields:
            fields[list(fields)[-1]].append(part)
    lists = {name for name, member in shape.members.items() if member.type_name == "list"}
    return {name: values if name in lists else ",".join(values) for name, values in fields.items()}
