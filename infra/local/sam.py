"""Writes what `sam local invoke` needs to run a function of the local stack on the stack's own
tables and queues.

SAM sets only variables that a template declares, and leaves those empty that refer to resources. So
it gets a copy of the template that declares every variable, and a file with their values.
"""

import json
from typing import Any
from urllib.parse import urlsplit

from infra import paths
from infra.local import ministack
from infra.local.processes import CannotRun
from infra.operate import target
from infra.operate.target import REGION, Target

HOST = "palimpsest.localhost"
"""The name of this machine within SAM's container. The guard accepts names that end in
.localhost.
"""

Environments = dict[str, dict[str, str]]


def prepare(*, host: str = HOST) -> None:
    """Write both files and print the command. `host` is the name by which functions reach the local
    AWS.

    Raises `CannotRun` if the local stack does not run.
    """
    if ministack.running() is None:
        raise CannotRun("The local stack is not running: run `make start` first.")
    place = target.local()
    assembly = paths.local_state() / "cdk.out"
    template = json.loads((assembly / f"{place.stack}.template.json").read_text())
    environments = _environments(place, template, host=host)
    # it names assets beside it
    values, copy = paths.local_state() / "sam.env.json", assembly / "sam.template.json"
    paths.write_private(values, json.dumps(environments, indent=2) + "\n")  # it holds a key
    paths.write_private(copy, json.dumps(declaring(template, environments)))
    print(f"sam local invoke -t {copy} --env-vars {values} \\")
    print(f"  --add-host {HOST}:host-gateway SessionsFunction -e events/sessions/append.json")
    if any(
        "SEARCH_URL" in environment and not environment["SEARCH_URL"]
        for environment in environments.values()
    ):
        print(
            "A container does not see the file of the search index; with `make start "
            "SEARCH=dynamodb` it does."
        )


def declaring(template: dict[str, Any], environments: Environments) -> dict[str, Any]:
    """Return the template, in which each function declares its variables without values."""
    resources = dict(template["Resources"])
    for name, variables in environments.items():
        properties = resources[name]["Properties"] | {
            "Environment": {"Variables": dict.fromkeys(variables, "")}
        }
        resources[name] = resources[name] | {"Properties": properties}
    return {**template, "Resources": resources}


def _environments(place: Target, template: dict[str, Any], *, host: str) -> Environments:
    """Return the deployed variables of each function, and the variables that direct it to the local
    AWS.
    """
    leading = _leading(place, host=host)
    formation, functions = place.client("cloudformation"), place.client("lambda")
    environments: Environments = {}
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Function":
            detail = formation.describe_stack_resource(
                StackName=place.stack, LogicalResourceId=name
            )
            deployed = detail["StackResourceDetail"]["PhysicalResourceId"]
            variables = functions.get_function_configuration(FunctionName=deployed)["Environment"][
                "Variables"
            ]
            environments[name] = {
                key: _within(value, host=host) for key, value in variables.items()
            } | leading
    return environments


def _leading(place: Target, *, host: str) -> dict[str, str]:
    credentials = place.session.get_credentials()
    if credentials is None or not place.endpoint:
        raise CannotRun("The local stack has no key or address: run `make start` again.")
    return {
        "AWS_ENDPOINT_URL": _within(place.endpoint, host=host),
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": credentials.access_key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret_key,
        "AWS_SESSION_TOKEN": "",  # one of the caller's shell must not go with our key
    }


def _within(value: str, *, host: str) -> str:
    """Return a variable's value for use in a container. Files of this machine do not exist there,
    and loopback is the container's own.
    """
    url = urlsplit(value)
    if url.scheme == "file":
        return ""
    if url.scheme == "http" and url.hostname in ("127.0.0.1", "localhost"):
        return url._replace(netloc=f"{host}:{url.port}").geturl()
    return value
