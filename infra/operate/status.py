"""Shows what is wrong with a stack: its alarms, queues, dead letters and logs.

python -m infra.operate.status [--stack Palimpsest-prod] [--job JOB_ID | --refused | --errors]

It changes nothing. Dead letters are only looked at, and stay in their queue.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import target
from infra.operate.target import Target

DEAD = "DeadLettersUrl"
LOOKED_AT = 100  # dead letters
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
REFUSED, FAILED = "4", "5"
"""The first digit of the status of a call."""
MOST_LISTED = 10
DEPTHS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


class Status:
    """Reads the state of one stack."""

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        self._place, self._outputs = place, outputs
        self._sqs: Any = place.client("sqs")
        self._logs: Any = place.client("logs")

    def __call__(self) -> Iterator[str]:
        """Yield lines about the alarms, the tables that serve, the queues and the dead letters."""
        yield from self._alarms()
        for name in ("TenantsTable", "SessionsTable", "MemoriesTable"):
            yield f"serves {self._outputs[name]}"
        for output, url in sorted(self._outputs.items()):
            if output.endswith("QueueUrl") or output == DEAD:
                yield self._queue(output.removesuffix("QueueUrl").removesuffix("Url"), url)
        for (kind, tenant), count in self.dead_letters().most_common(MOST_LISTED):
            yield f"dead letters: {count} of kind {kind}, tenant {tenant}"

    def _alarms(self) -> Iterator[str]:
        client = self._place.client("cloudwatch")
        pages = client.get_paginator("describe_alarms").paginate(
            AlarmNamePrefix=self._place.stack, StateValue="ALARM"
        )
        alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
        for alarm in alarms:
            yield f"ALARM {alarm['AlarmName']}: {alarm.get('AlarmDescription', '')}"
        if not alarms:
            yield "no alarm is on"

    def _queue(self, name: str, url: str) -> str:
        query = {"QueueUrl": url, "AttributeNames": list(DEPTHS)}
        attributes = self._sqs.get_queue_attributes(**query)["Attributes"]
        waiting, working = (int(attributes[depth]) for depth in DEPTHS)
        return f"queue {name}: {waiting} wait, {working} are worked on"

    def dead_letters(self) -> Counter[tuple[str, str]]:
        """Count the first dead letters by kind and tenant. Reading them does not hide them from
        other readers.
        """
        counts: Counter[tuple[str, str]] = Counter()
        seen: set[str] = set()
        query = {"QueueUrl": self._outputs[DEAD], "MaxNumberOfMessages": 10, "VisibilityTimeout": 5}
        while len(seen) < LOOKED_AT:
            messages = self._sqs.receive_message(**query).get("Messages", ())
            new = [message for message in messages if message["MessageId"] not in seen]
            if not new:
                return counts
            seen |= {message["MessageId"] for message in new}
            counts.update(_work(message["Body"]) for message in new)
        return counts

    def of_job(self, job: str) -> Iterator[str]:
        """Yield what functions logged about a job in the last day."""
        for line in self._logged(f'"{job}"', since=DAY):
            if job in line:
                yield line

    def errors(self) -> Iterator[str]:
        """Yield the warnings and errors of the last hour, each with how often it was logged."""
        counts: Counter[str] = Counter()
        for line in self._logged('"level"', since=HOUR):
            fields = _fields(line)
            if fields.get("level") in ("WARNING", "ERROR", "CRITICAL"):
                parts = (fields.get(name) for name in ("service", "message", "code", "error"))
                counts[" ".join(str(part) for part in parts if part)] += 1
        yield from _listed(counts, nothing="no function logged a warning in the last hour")

    def refused(self) -> Iterator[str]:
        """Yield the addresses with most refused or failed calls of the last hour."""
        counts: Counter[str] = Counter()
        for line in self._logged('"ip"', since=HOUR):
            fields = _fields(line)
            if str(fields.get("status", ""))[:1] in (REFUSED, FAILED) and "ip" in fields:
                counts[f"{fields['ip']} {fields['status']}"] += 1
        yield from _listed(counts, nothing="no call was refused in the last hour")

    def _logged(self, pattern: str, *, since: timedelta) -> Iterator[str]:
        start = int((datetime.now(UTC) - since).timestamp() * 1000)
        for group in self._groups():
            pages = self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=group, startTime=start, filterPattern=pattern
            )
            for page in pages:
                yield from (event["message"].strip() for event in page["events"])

    def _groups(self) -> Iterator[str]:
        formation = self._place.client("cloudformation")
        pages = formation.get_paginator("list_stack_resources")
        for page in pages.paginate(StackName=self._place.stack):
            for resource in page["StackResourceSummaries"]:
                if resource["ResourceType"] == "AWS::Logs::LogGroup":
                    yield resource["PhysicalResourceId"]


def _work(body: str) -> tuple[str, str]:
    fields = _fields(body)
    return str(fields.get("kind", "change")), str(fields.get("tenant", "unknown"))


def _fields(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _listed(counts: Counter[str], *, nothing: str) -> Iterator[str]:
    for what, count in counts.most_common(MOST_LISTED):
        yield f"{count} times: {what}"
    if not counts:
        yield nothing


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.status", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    parser.add_argument("--job", help="show what was logged about this job")
    parser.add_argument("--errors", action="store_true", help="count the warnings of the last hour")
    parser.add_argument("--refused", action="store_true", help="count refused calls by address")
    parsed = parser.parse_args(arguments)
    place = target.chosen(parsed)
    try:
        status = Status(place, place.outputs())
        for line in _chosen(status, parsed):
            print(line)
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"{place.stack} can't be looked at: {error}") from error


def _chosen(status: Status, parsed: argparse.Namespace) -> Iterator[str]:
    if parsed.job:
        return status.of_job(parsed.job)
    if parsed.errors:
        return status.errors()
    return status.refused() if parsed.refused else status()


if __name__ == "__main__":
    main()
