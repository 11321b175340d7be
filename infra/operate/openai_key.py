"""Stores the OpenAI key in a SecureString parameter. The stack lets only functions that call a
model read it.

    OPENAI_API_KEY=… python -m infra.operate.openai_key [--stack Palimpsest-prod]
    python -m infra.operate.openai_key --delete

It asks for the key if the variable is empty.
"""

import argparse
import getpass
import os
import sys
from collections.abc import Mapping

from botocore.exceptions import ClientError

from infra.operate import target
from infra.operate.target import Target


def store(place: Target, outputs: Mapping[str, str], key: str) -> None:
    """Store the key for that stack. If `key` is empty, delete the stored key. Workers then use no
    model.
    """
    name = outputs.get("OpenAiKeyParameter")
    if name is None:
        if key:
            raise SystemExit("This stack takes its models from Bedrock, which needs no key.")
        return
    client = place.client("ssm")
    if key:
        encryption = {"KeyId": outputs["KeyArn"]} if "KeyArn" in outputs else {}
        client.put_parameter(
            Name=name, Value=key, Type="SecureString", Overwrite=True, **encryption
        )
        return
    try:
        client.delete_parameter(Name=name)
    except client.exceptions.ParameterNotFound:
        return


def _given_key() -> str:
    if key := os.environ.get("OPENAI_API_KEY", "").strip():
        return key
    key = getpass.getpass("OpenAI API key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise SystemExit("No key was given; --delete removes the stored one.")
    return key.strip()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.openai_key", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--delete", action="store_true", help="work without a model from now on")
    target.add_argument(parser)
    parsed = parser.parse_args(arguments)
    place = target.chosen(parsed)
    outputs = place.outputs()
    try:
        store(place, outputs, "" if parsed.delete else _given_key())
    except ClientError as error:
        raise SystemExit(f"The key could not be stored: {error}") from error
    print("The workers use it within five minutes.")


if __name__ == "__main__":
    main()
