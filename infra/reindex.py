"""Builds the search index of a stack anew from its tables, while everything goes on, and waits for the end.

python -m infra.reindex [--stack Palimpsest-prod]
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import target
from infra.target import Target

LOOK_SECONDS = 2.0
FUNCTION = "ReindexFunction"


@dataclass(frozen=True, slots=True)
class Progress:
    """`error` is what it waits for, if a step has failed."""

    state: str
    indexed: int = 0
    left_out: int = 0
    error: str | None = None

    def __str__(self) -> str:
        said = f"{self.state}: {self.indexed} indexed"
        if self.left_out:
            said += f", {self.left_out} more by their words alone, as the model refuses them"
        return f"{said}; {self.error}" if self.error else said


class Reindex:
    """The stack's own function begins it: that knows the tables, the index, and the model that makes its vectors."""

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        if FUNCTION not in outputs:
            raise SystemExit(f"The stack {place.stack} has no search index: there is nothing to build anew.")
        self._outputs = outputs
        self._lambda: Any = place.client("lambda")
        self._table: Any = place.client("dynamodb")

    def start(self) -> dict[str, Any]:
        """The names of the job, and `is_new`: false if it goes on already, for there is one at a time."""
        answer = self._lambda.invoke(FunctionName=self._outputs[FUNCTION], Payload=b"{}")
        told: dict[str, Any] = json.loads(answer["Payload"].read())
        if "job_id" not in told:
            raise SystemExit(f"The function {self._outputs[FUNCTION]} failed ({told.get('errorType')}): see its log.")
        return told

    def look(self, job: Mapping[str, Any]) -> Progress:
        key = {"pk": {"S": f"{job['tenant']}#job#{job['job_id']}"}, "sk": {"S": "job"}}
        item = self._table.get_item(TableName=self._outputs["SessionsTable"], Key=key, ConsistentRead=True)["Item"]
        outcome = json.loads(item["outcome"]["S"])
        return Progress(item["state"]["S"], **outcome.get("result", {}), error=outcome.get("error"))


def follow(reindex: Reindex, *, say: Callable[[str], None], pause: Callable[[float], None] = time.sleep) -> bool:
    """Start and wait, telling what is new; whether it is done."""
    job = reindex.start()
    say(f"{'started' if job['is_new'] else 'one is under way already'}: {job['job_id']}")
    said, now = None, reindex.look(job)
    while now.state in ("pending", "running"):
        if now != said:
            say(str(now))
        said = now
        pause(LOOK_SECONDS)
        now = reindex.look(job)
    say(str(now))
    if now.state == "failed":
        say("It begins again by itself after a while, and at once by this command.")
    return now.state == "done"


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
