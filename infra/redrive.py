"""Sends what failed through the queues again: dead letters to their queue, parked records as the work they stand for.

python -m infra.redrive [--stack Palimpsest-prod]
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra import target
from infra.target import Target

QUEUE_OF_KIND = {
    "summarize": "Summarize", "extract": "Extract", "flush": "Extract", "reindex": "Reindex",
    **dict.fromkeys(("delete", "withdraw", "forget", "forget_sessions", "erase"), "Sweep"),
}  # fmt: skip
EMBED = "Embed"
GROUP = re.compile(r"[!-~]{1,128}")
"""What SQS takes as a message group."""
CHANGED = ({"tenant", "user", "record_id"}, {"tenant", "session", "seq"})
"""The names in a message that tells of a record or of a message that the search index may not know yet."""


class Redrive:
    """Repeating work does no harm, so every message is sent before it is deleted."""

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        self._outputs = outputs
        self._sqs: Any = place.client("sqs")
        self._table: Any = place.client("dynamodb")
        self._stream: Any = place.client("dynamodbstreams")

    def dead_letters(self) -> tuple[Counter[str], list[str]]:
        """Give queues their dead letters back: how many by queue, and the messages that stay as they name no work."""
        source = self._outputs["DeadLettersUrl"]
        moved: Counter[str] = Counter()
        stay = []
        for message in self._messages(source):
            try:
                said = json.loads(message["Body"])
                queue = self._queue_of(said)
            except (ValueError, KeyError, TypeError, AttributeError):
                stay.append(message["MessageId"])
                continue
            self._send(queue, message["Body"], tenant=said.get("tenant"))
            self._delete(source, message)
            moved[queue] += 1
        return moved, stay

    def parked(self) -> tuple[int, list[str]]:
        """Start the work of parked records; returns how many, and the messages that stay because they name none."""
        source = self._outputs["ParkedQueueUrl"]
        started, stay = 0, []
        for message in self._messages(source):
            try:
                keys = list(self._keys(json.loads(message["Body"])))
                started += sum(self._start(key) for key in keys)
            except (ValueError, KeyError, TypeError, AttributeError):
                stay.append(message["MessageId"])
                continue
            self._delete(source, message)
        return started, stay

    def _send(self, queue: str, body: str, *, tenant: object) -> None:
        """The tenant is the message's group, as it was at first: so one tenant's failures do not delay the others."""
        is_group = isinstance(tenant, str) and GROUP.fullmatch(tenant)
        group = {"MessageGroupId": tenant} if is_group else {}
        self._sqs.send_message(QueueUrl=self._url(queue), MessageBody=body, **group)

    def _url(self, queue: str) -> str:
        return self._outputs[f"{queue}QueueUrl"]

    def _queue_of(self, said: Mapping[str, Any]) -> str:
        """Raises `KeyError` if no queue of this stack is for it."""
        queue = EMBED if said.keys() in CHANGED else QUEUE_OF_KIND[said["kind"]]
        self._url(queue)
        return queue

    def _messages(self, queue: str) -> Iterator[dict[str, Any]]:
        """All that wait there. A receive that waits asks all of the queue's servers, so an empty one means none."""
        while True:
            answer = self._sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            if not answer.get("Messages"):
                return
            yield from answer["Messages"]

    def _delete(self, queue: str, message: Mapping[str, Any]) -> None:
        self._sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    def _keys(self, parked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The keys of the items that a parked message is about: one that the dispatcher could not read, or a batch
        of the stream that it failed on. A batch older than the stream names none: the sweep finds its jobs.
        """
        if "DDBStreamBatchInfo" not in parked:
            yield {name: {"S": parked["keys"][name]["S"]} for name in ("pk", "sk")}
            return
        batch = parked["DDBStreamBatchInfo"]
        try:
            iterator = self._stream.get_shard_iterator(
                StreamArn=batch["streamArn"], ShardId=batch["shardId"],
                ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=batch["startSequenceNumber"],
            )["ShardIterator"]  # fmt: skip
        except (self._stream.exceptions.TrimmedDataAccessException, self._stream.exceptions.ResourceNotFoundException):
            return
        for record in self._stream.get_records(ShardIterator=iterator)["Records"]:
            if int(record["dynamodb"]["SequenceNumber"]) <= int(batch["endSequenceNumber"]):
                yield record["dynamodb"]["Keys"]

    def _start(self, key: Mapping[str, Any]) -> bool:
        """Send on what the item stands for: a job that has not ended, or a change of what is searched."""
        said = self._job(key) if key["sk"]["S"] == "job" else self._change(key)
        if said is None:
            return False
        self._send(self._queue_of(said), json.dumps(said), tenant=said["tenant"])
        return True

    def _job(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        item = self._table.get_item(TableName=self._outputs["SessionsTable"], Key=key, ConsistentRead=True).get("Item")
        if item is None or item["type"]["S"] != "job" or item["state"]["S"] in ("done", "failed"):
            return None
        tenant, _, job_id = item["pk"]["S"].split("#")
        return {"tenant": tenant, "job_id": job_id, "kind": item["kind"]["S"]}

    def _change(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record or message under the key; None for every other item, and in a stack that has no search index."""
        (tenant, owner), (kind, _, name) = key["pk"]["S"].split("#")[:2], key["sk"]["S"].partition("#")
        if f"{EMBED}QueueUrl" not in self._outputs:
            return None
        if kind == "r":
            return {"tenant": tenant, "user": owner, "record_id": name}
        return {"tenant": tenant, "session": owner, "seq": int(name)} if kind == "m" else None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.redrive", description=(__doc__ or "").splitlines()[0])
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    redrive = Redrive(place, place.outputs())
    try:
        moved, unknown = redrive.dead_letters()
        started, unread = redrive.parked()
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The queues could not be emptied: {error}") from error
    print(f"dead letters: {moved.total()} sent again", *(f"{name.lower()} {count}" for name, count in moved.items()))
    print(f"parked: {started} started")
    for message_id in (*unknown, *unread):
        print(f"message {message_id} names no work of this stack, and stays")


if __name__ == "__main__":
    main()
