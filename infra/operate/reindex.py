"""Rebuilds a stack's search index from its tables while it serves, and waits until the end.

python -m infra.operate.reindex [--stack Palimpsest-prod]
"""

import argparse
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target
from infra.operate.target import Target

LOOK_SECONDS = 2.0
FUNCTION = "ReindexFunction"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a rebuild: the job's state, how many documents are indexed, and the last
    error if a step has failed.

    `left_out` counts the documents that have no vector, because the embedding model refuses their
    text.
    """

    state: str
    indexed: int = 0
    left_out: int = 0
    error: str | None = None

    def __str__(self) -> str:
        line = f"{self.state}: {self.indexed} indexed"
        if self.left_out:
            line += f", {self.left_out} more by their words alone, because the model refuses them"
        return f"{line}; {self.error}" if self.error else line


class Reindex:
    """Starts a rebuild and reads its progress.

    The stack's own function starts it, because that function knows the tables, the index, and the
    model that makes the vectors.
    """

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        if FUNCTION not in outputs:
            raise SystemExit(
                f"The stack {place.stack} has no search index, so there is nothing to rebuild."
            )
        self._outputs = outputs
        self._lambda: Any = place.client("lambda")
        self._table: Any = place.client("dynamodb")

    def start(self) -> dict[str, Any]:
        """Start a rebuild. Return the job's `tenant` and `job_id`, and `is_new`, which is false if
        a rebuild was already running. Only one runs at a time.
        """
        answer = self._lambda.invoke(FunctionName=self._outputs[FUNCTION], Payload=b"{}")
        job: dict[str, Any] = json.loads(answer["Payload"].read())
        if "job_id" not in job:
            raise SystemExit(
                f"The function {self._outputs[FUNCTION]} failed ({job.get('errorType')}): see its "
                f"log."
            )
        return job

    def look(self, job: Mapping[str, Any]) -> Progress:
        key = {"pk": {"S": f"{job['tenant']}#job#{job['job_id']}"}, "sk": {"S": "job"}}
        item = self._table.get_item(
            TableName=self._outputs["SessionsTable"], Key=key, ConsistentRead=True
        )["Item"]
        outcome = json.loads(item["outcome"]["S"])
        return Progress(item["state"]["S"], **outcome.get("result", {}), error=outcome.get("error"))


def follow(
    reindex: Reindex, *, say: Callable[[str], None], pause: Callable[[float], None] = time.sleep
) -> bool:
    """Start a rebuild, wait for it, and pass each change of its progress to `say`. Return whether
    it was completed. `pause` waits for a number of seconds.
    """
    job = reindex.start()
    say(f"{'started' if job['is_new'] else 'already running'}: {job['job_id']}")
    last, now = None, reindex.look(job)
    while now.state in ("pending", "running"):
        if now != last:
            say(str(now))
        last = now
        pause(LOOK_SECONDS)
        now = reindex.look(job)
    say(str(now))
    if now.state == "failed":
        say("It starts again by itself after a while, or at once with this command.")
    return now.state == "done"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.reindex", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    try:
        is_done = follow(Reindex(place, place.outputs()), say=lambda line: print(line, flush=True))
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The stack {place.stack} did not answer: {error}") from error
    except KeyboardInterrupt:
        raise SystemExit(
            "The rebuild continues; the same command shows its progress again."
        ) from None
    raise SystemExit(0 if is_done else 1)


if __name__ == "__main__":
    main()
