"""Prints what the functions of the local stack log."""

import time

from infra.operate import target

RUNTIME_LINES = ("START RequestId", "END RequestId", "REPORT RequestId")


def follow() -> None:
    """Print what the functions logged in the last minute, and then what they log from now on, until interrupted."""
    client = target.local().client("logs")
    since = int(time.time() * 1000) - 60_000
    seen: set[tuple[int, str]] = set()
    while True:
        groups = [group["logGroupName"] for group in client.describe_log_groups()["logGroups"]]
        found = [
            (event["timestamp"], event["message"].rstrip())
            for group in groups
            for page in client.get_paginator("filter_log_events").paginate(logGroupName=group, startTime=since)
            for event in page["events"]
        ]
        for _, message in sorted((entry for entry in found if entry not in seen), key=lambda entry: entry[0]):
            if not message.startswith(RUNTIME_LINES):
                print(message, flush=True)
        since, seen = max([since, *(at for at, _ in found)]), set(found)
        time.sleep(1)
