"""Builds the search index of a stack anew from its tables, while everything goes on, and waits for the end.

python -m infra.reindex [--stack Palimpsest-prod]
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import target
from infra.target import Target

LOOK_SECONDS = 2.0
FUNCTION = "ReindexFunction"


class Reindex:
    """Asks the stack's own function, which knows the tables, the index and the model that makes its vectors."""

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        if FUNCTION not in outputs:
            raise SystemExit(f"The stack {place.stack} has no search index: there is nothing to build anew.")
        self._function = outputs[FUNCTION]
        self._lambda: Any = place.client("lambda")

    def start(self) -> dict[str, Any]:
        """Begin; or the one that goes on already (`is_new` false): there is one at a time."""
        return self._ask({})

    def look(self, job_id: str) -> dict[str, Any]:
        return self._ask({"job_id": job_id})

    def _ask(self, said: dict[str, str]) -> dict[str, Any]:
        answer = self._lambda.invoke(FunctionName=self._function, Payload=json.dumps(said))
        told: dict[str, Any] = json.loads(answer["Payload"].read())
        if "FunctionError" in answer or "job_id" not in told:
            raise SystemExit(f"The function {self._function} failed ({told.get('errorType')}): see its log.")
        return told


def follow(reindex: Reindex, *, say: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> bool:
    """Start and wait, telling what is new; whether it is done."""
    told = reindex.start()
    job_id = told["job_id"]
    say(f"{'started' if told['is_new'] else 'one is under way already'}: {job_id}")
    before = None
    while told["state"] in ("pending", "running"):
        now = progress(told)
        if now != before:
            say(now)
        before = now
        pause(LOOK_SECONDS)
        told = reindex.look(job_id)
    say(progress(told))
    if told["state"] == "failed":
        say("The sweep begins it again after a while, and this command at once.")
    return bool(told["state"] == "done")


def progress(told: Mapping[str, Any]) -> str:
    counts = f"{told['state']}: {told.get('indexed', 0)} indexed"
    if told.get("left_out"):
        counts += f", {told['left_out']} more by their words alone: the model refuses them"
    return f"{counts}; waits after {told['error']}" if told.get("error") else counts


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.reindex", description=(__doc__ or "").splitlines()[0])
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    try:
        is_done = follow(Reindex(place, place.outputs()), say=lambda line: print(line, flush=True))
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The stack {place.stack} did not answer: {error}") from error
    except KeyboardInterrupt:
        raise SystemExit("It goes on without being watched; the same command shows it again.") from None
    raise SystemExit(0 if is_done else 1)


if __name__ == "__main__":
    main()
