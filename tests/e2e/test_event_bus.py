"""What happens to memories leaves on the stack's own bus, for whoever has a rule there."""

from __future__ import annotations

import json
import uuid

from tests.e2e.stack import Client, Stack, eventually


def test_a_memory_that_is_saved_superseded_and_forgotten_is_told_on_the_bus(
    call: Client, stack: Stack
) -> None:
    sqs, events, name = (
        stack.place.client("sqs"),
        stack.place.client("events"),
        f"told-{uuid.uuid4().hex[:8]}",
    )
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"][
        "QueueArn"
    ]
    bus, user = stack.outputs["EventBus"], f"user-{uuid.uuid4().hex[:8]}"
    pattern = {"source": ["palimpsest"], "detail": {"user_id": [user]}}
    events.put_rule(Name=name, EventBusName=bus, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, EventBusName=bus, Targets=[{"Id": "1", "Arn": arn}])
    path = f"/v1/users/{user}/memories"
    first, second = (
        call(
            "POST",
            path,
            {"memories": [{"type": "fact", "topic_key": "employer", "content": content}]},
        ).json["memories"][0]["id"]
        for content in ("works at A", "works at B")
    )
    call("DELETE", f"{path}/{second}")
    seen: set[tuple[str, str]] = set()

    def all_arrived() -> bool:
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get(
            "Messages", ()
        ):
            assert "works at" not in message["Body"]
            event = json.loads(message["Body"])
            seen.add((event["detail-type"], event["detail"]["memory_id"]))
        return seen == {
            ("MemoryCreated", first), ("MemoryCreated", second), ("MemorySuperseded", first),
            ("MemoryForgotten", second),
        }  # fmt: skip

    eventually(all_arrived)
