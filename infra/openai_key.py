"""Stores the OpenAI key where the workers read it: a SecureString that the stack only grants reading.

OPENAI_API_KEY=… python -m infra.openai_key [--stack Palimpsest-prod]     asks for it if the variable is empty
python -m infra.openai_key --delete
"""

import argparse
import getpass
import os
import sys
from collections.abc import Mapping

from botocore.exceptions import ClientError

from infra import target
from infra.target import Target


def store(place: Target, outputs: Mapping[str, str], key: str) -> None:
    """Make it the key of that stack; an empty one is deleted, and the workers work offline."""
    client = place.client("ssm")
    name = outputs["OpenAiKeyParameter"]
    if key:
        encryption = {"KeyId": outputs["KeyArn"]} if "KeyArn" in outputs else {}
        client.put_parameter(Name=name, Value=key, Type="SecureString", Overwrite=True, **encryption)
        return
    try:
        client.delete_parameter(Name=name)
    except client.exceptions.ParameterNotFound:
        return


def _asked() -> str:
    if key := os.environ.get("OPENAI_API_KEY", "").strip():
        return key
    key = getpass.getpass("OpenAI API key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise SystemExit("No key was given; --delete removes the one that is stored.")
    return key.strip()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.openai_key", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--delete", action="store_true", help="work without a model from now on")
    target.add_argument(parser)
    told = parser.parse_args(arguments)
    place = target.chosen(told)
    outputs = place.outputs()
    try:
        store(place, outputs, "" if told.delete else _asked())
    except ClientError as error:
        raise SystemExit(f"The key could not be stored: {error}") from error
    print("Workers take it up within five minutes.")


if __name__ == "__main__":
    main()
