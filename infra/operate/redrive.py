"""Sends failed work through the queues again: dead letters, and the work of parked records.

python -m infra.operate.redrive [--stack Palimpsest-prod]

SQS could move dead letters by itself (`StartMessageMoveTask`). But the local AWS has no such call,
and SQS would also move messages that no queue of this stack can use. This command leaves such
messages in place and lists them.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target
from infra.operate.target import Target

QUEUE_OF_KIND = {
    "summarize": "Summarize",
    "extract": "Extract",
    "flush": "Extract",
    "reindex": "Reindex",
    **dict.fromkeys(
        (
            "delete",
            "withdraw",
            "redact",
            "take_back",
            "forget",
            "forget_sessions",
            "erase",
            "retain",
        ),
        "Sweep",
    ),
    **dict.fromkeys(("upload", "export", "import"), "Sweep"),
}
EMBED = "Embed"
EVENTS, EVENT = "Events", {"name", "tenant", "ids"}
"""The queue of events that the bus refused, and the fields of its messages."""
GROUP = re.compile(r"[!-~]{1,128}")
"""The texts that SQS accepts as a message group."""
CHANGED = ({"tenant", "user", "record_id"}, {"tenant", "session", "seq"}, {"tenant", "job_id"})
"""The fields of a message about a record, a conversation message or a redaction that the search
index may lack.
"""


class Redrive:
    """Moves the messages of one stack.

    Each message is sent before it is deleted. A crash in between repeats work, which does no harm.
    """

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        self._outputs = outputs
        self._sqs: Any = place.client("sqs")
        self._table: Any = place.client("dynamodb")
        self._stream: Any = place.client("dynamodbstreams")

    def dead_letters(self) -> tuple[Counter[str], list[str]]:
        """Move the dead letters. Return how many went to each queue, and the ids of messages that
        name no work, which stay.
        """
        source = self._outputs["DeadLettersUrl"]
        moved: Counter[str] = Counter()
        stay = []
        for message in self._messages(source):
            try:
                work = json.loads(message["Body"])
                queue = self._queue_of(work)
            except (ValueError, KeyError, TypeError, AttributeError):
                stay.append(message["MessageId"])
                continue
            self._send(queue, message["Body"], tenant=work.get("tenant"))
            self._delete(source, message)
            moved[queue] += 1
        return moved, stay

    def parked(self) -> tuple[int, list[str]]:
        """Start the work of parked records. Return how many jobs were started, and the ids of
        messages that name no work, which stay.
        """
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
        """Send a message in its tenant's message group, as when it was first sent. In this way one
        tenant's failures do not delay other tenants.
        """
        is_group = isinstance(tenant, str) and GROUP.fullmatch(tenant)
        group = {"MessageGroupId": tenant} if is_group else {}
        self._sqs.send_message(QueueUrl=self._url(queue), MessageBody=body, **group)

    def _url(self, queue: str) -> str:
        return self._outputs[f"{queue}QueueUrl"]

    def _queue_of(self, message: Mapping[str, Any]) -> str:
        """Return the queue for that message. Raises `KeyError` if this stack has none."""
        if message.keys() == EVENT:
            queue = EVENTS
        else:
            queue = EMBED if message.keys() in CHANGED else QUEUE_OF_KIND[message["kind"]]
        self._url(queue)
        return queue

    def _messages(self, queue: str) -> Iterator[dict[str, Any]]:
        """Yield all waiting messages. A receive call that waits asks all servers of the queue, so
        an empty answer means that none is left.
        """
        while True:
            answer = self._sqs.receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1
            )
            if not answer.get("Messages"):
                return
            yield from answer["Messages"]

    def _delete(self, queue: str, message: Mapping[str, Any]) -> None:
        self._sqs.delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])

    def _keys(self, parked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the keys of the items that a parked message names. These are the item that the
        dispatcher could not read, or the items of a batch of the stream on which it failed. If the
        batch has already left the stream, there are none, and the sweep finds its jobs.
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
        except (
            self._stream.exceptions.TrimmedDataAccessException,
            self._stream.exceptions.ResourceNotFoundException,
        ):
            return
        while iterator:  # an answer holds 1 MB at most, or nothing at all although there is more
            answer = self._stream.get_records(ShardIterator=iterator)
            for record in answer["Records"]:
                if int(record["dynamodb"]["SequenceNumber"]) > int(batch["endSequenceNumber"]):
                    return
                yield record["dynamodb"]["Keys"]
                if record["dynamodb"]["SequenceNumber"] == batch["endSequenceNumber"]:
                    return
            iterator = answer.get("NextShardIterator")

    def _start(self, key: Mapping[str, Any]) -> bool:
        """Send the work of the item with that key: a job that has not ended, or a change for the
        search index. Return whether there was any.
        """
        work = self._job(key) if key["sk"]["S"] == "job" else self._change(key)
        if work is None:
            return False
        self._send(self._queue_of(work), json.dumps(work), tenant=work["tenant"])
        return True

    def _job(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        item = self._table.get_item(
            TableName=self._outputs["SessionsTable"], Key=key, ConsistentRead=True
        ).get("Item")
        if item is None or item["type"]["S"] != "job" or item["state"]["S"] in ("done", "failed"):
            return None
        tenant, _, job_id = item["pk"]["S"].split("#")
        return {"tenant": tenant, "job_id": job_id, "kind": item["kind"]["S"]}

    def _change(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the change of the record or message with that key. Return None for other items,
        and without a search index.
        """
        (tenant, owner), (kind, _, name) = (
            key["pk"]["S"].split("#")[:2],
            key["sk"]["S"].partition("#"),
        )
        if f"{EMBED}QueueUrl" not in self._outputs:
            return None
        if kind == "r":
            return {"tenant": tenant, "user": owner, "record_id": name}
        return {"tenant": tenant, "session": owner, "seq": int(name)} if kind == "m" else None


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.redrive", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    place = target.chosen(parser.parse_args(arguments))
    redrive = Redrive(place, place.outputs())
    try:
        moved, unknown = redrive.dead_letters()
        started, unread = redrive.parked()
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The queues could not be emptied: {error}") from error
    print(
        f"dead letters: {moved.total()} sent again",
        *(f"{name.lower()} {count}" for name, count in moved.items()),
    )
    print(f"parked: {started} started")
    for message_id in (*unknown, *unread):
        print(f"message {message_id} names no work of this stack and stays in its queue")


if __name__ == "__main__":
    main()
