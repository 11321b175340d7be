"""Restores the tables of a stack as they were at one second, checks them row by row, and puts them
into service. Each is restored into a new table, and the old table is not changed.

python -m infra.operate.restore [--stack Palimpsest-prod] --at 2026-01-05T09:00:00Z …

With `--only-tables` the stack still serves its tables, and `--serve` puts the restored ones into
service later. `--undo` lets the stack's own tables serve again.

A deployment repeats the choices and the tags of the last one.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.operate import manifest, service, target
from infra.operate.manifest import TABLES
from infra.operate.target import Target

MARK = "-restored-"
LATEST = "latest"
SETTLED_SECONDS, BETWEEN = 7_200, 5
"""The times of waiting for a restored table. A large table takes hours, and its restoration
continues without this command.
"""


class Restore:
    """Restores one stack's tables. AWS restores neither streams nor expiry nor backups nor tags nor
    the protection from deletion, so this sets them again.
    """

    def __init__(self, place: Target, outputs: Mapping[str, str]) -> None:
        self._dynamodb: Any = place.client("dynamodb")
        self._names = [outputs[name] for name in TABLES]

    def moment(self, wanted: datetime | None) -> datetime:
        """Return the second to restore to: the wanted one, or the latest that all tables have.
        Raises `SystemExit` if one of the tables can't be restored to it. Nothing was started then.
        """
        spans = {name: self._span(name) for name in self._names}
        moment = (wanted or min(latest for _, latest in spans.values())).replace(microsecond=0)
        for name, (earliest, latest) in spans.items():
            if wanted is not None and not earliest.replace(microsecond=0) <= moment <= latest:
                raise SystemExit(
                    f"{name} can be restored from {earliest:%FT%TZ} to {latest:%FT%TZ}, not to "
                    f"{moment:%FT%TZ}."
                )
        return moment

    def _span(self, name: str) -> tuple[datetime, datetime]:
        described = self._dynamodb.describe_continuous_backups(TableName=name)[
            "ContinuousBackupsDescription"
        ]
        backups = described.get("PointInTimeRecoveryDescription", {})
        if backups.get("PointInTimeRecoveryStatus") != "ENABLED":
            raise SystemExit(f"{name} has no backups: point-in-time recovery is off.")
        now = datetime.now(UTC)
        return backups.get("EarliestRestorableDateTime", now), backups.get(
            "LatestRestorableDateTime", now
        )

    def __call__(self, moment: datetime) -> dict[str, str]:
        """Restore every table, and return the new names by the old ones.

        Safe to repeat: a table that an earlier call has begun to restore is not restored again.
        """
        made = self.names(f"{moment:%Y%m%d%H%M%S}")
        for name, new in made.items():
            with suppress(self._dynamodb.exceptions.TableAlreadyExistsException):
                self._dynamodb.restore_table_to_point_in_time(
                    SourceTableName=name, TargetTableName=new, RestoreDateTime=moment
                )
        for name, new in made.items():
            self._wait(new)
            self._set_again(name, new)
        return made

    def names(self, moment: str) -> dict[str, str]:
        """Return the names of the tables that were restored to that moment, by the old ones."""
        return {name: f"{name}{MARK}{moment}" for name in self._names}

    def _wait(self, name: str) -> None:
        until = time.monotonic() + SETTLED_SECONDS
        while self._described(name)["TableStatus"] != "ACTIVE":
            if time.monotonic() > until:
                raise SystemExit(
                    f"{name} is still being restored. Give the same command again with the same "
                    f"--at, which continues."
                )
            time.sleep(BETWEEN)

    def _described(self, name: str) -> dict[str, Any]:
        description: dict[str, Any] = self._dynamodb.describe_table(TableName=name)["Table"]
        return description

    def _set_again(self, name: str, new: str) -> None:
        description = self._described(name)
        stream = description.get("StreamSpecification")
        if stream and stream != self._described(new).get("StreamSpecification"):
            self._dynamodb.update_table(TableName=new, StreamSpecification=stream)
            self._wait(new)
        expiry = self._expiry(name)
        if expiry and expiry != self._expiry(new):
            self._dynamodb.update_time_to_live(TableName=new, TimeToLiveSpecification=expiry)
        backups = {"PointInTimeRecoveryEnabled": True}
        self._dynamodb.update_continuous_backups(
            TableName=new, PointInTimeRecoverySpecification=backups
        )
        tags = list(self._tags(description["TableArn"]))
        if tags:
            self._dynamodb.tag_resource(ResourceArn=self._described(new)["TableArn"], Tags=tags)
        if description.get("DeletionProtectionEnabled"):
            self._wait(new)
            self._dynamodb.update_table(TableName=new, DeletionProtectionEnabled=True)
            self._wait(new)

    def _expiry(self, name: str) -> dict[str, Any]:
        """Return the attribute by which a table deletes its items, as DynamoDB takes it. The result
        is empty if the table does not delete them.
        """
        ttl = self._dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        if ttl.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING"):
            return {}
        return {"Enabled": True, "AttributeName": ttl["AttributeName"]}

    def _tags(self, table: str) -> Iterator[dict[str, str]]:
        """Yield the tags of a table, but none of AWS's own, which nobody else may set."""
        pages = self._dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=table)
        for page in pages:
            yield from (tag for tag in page["Tags"] if not tag["Key"].startswith("aws:"))


def main(arguments: list[str] | None = None) -> None:
    parsed = _parser().parse_args(arguments)
    place = target.chosen(parsed)
    try:
        if parsed.undo:
            service.undo(place, context=parsed.context)
            return
        outputs = place.outputs()
        restore = Restore(place, outputs)
        made = restore.names(parsed.serve) if parsed.serve else _restored(restore, parsed.at)
        restored = {name: made[outputs[name]] for name in TABLES}
        _check(place, restored, beside=outputs, file=parsed.manifest)
        if not parsed.only_tables:
            service.put(place, restored, context=parsed.context)
    except (ClientError, BotoCoreError) as error:
        raise SystemExit(f"The tables of {place.stack} can't be restored: {error}") from error


def _restored(restore: Restore, wanted: datetime | str) -> dict[str, str]:
    moment = restore.moment(wanted if isinstance(wanted, datetime) else None)
    print(
        f"Restoring to {moment:%FT%TZ}: what was written in the {_lost(moment)} since then is "
        f"not in it."
    )
    made = restore(moment)
    for name, new in made.items():
        print(f"{name} -> {new}")
    return made


def _check(
    place: Target, restored: Mapping[str, str], *, beside: Mapping[str, str], file: Path | None
) -> None:
    """Compare every row of the restored tables with the manifest, or without one with the tables
    `beside` them, which are in use. Raises `SystemExit` if a row differs from the manifest. Nothing
    was put into service then.
    """
    dynamodb = place.client("dynamodb")
    other = "the table in use" if file is None else "the manifest"
    kept = manifest.of_tables(dynamodb, beside) if file is None else manifest.read(file)
    holds = True
    for output, rows in manifest.of_tables(dynamodb, restored).items():
        comparison = manifest.compared(kept[output], rows)
        print(f"{restored[output]}: {comparison.beside(other)}")
        holds = holds and comparison.holds
    if file is not None and not holds:
        raise SystemExit("The restored tables are not those of the manifest, and do not serve.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.operate.restore", description=(__doc__ or "").splitlines()[0]
    )
    target.add_argument(parser)
    task = parser.add_mutually_exclusive_group(required=True)
    task.add_argument(
        "--at",
        type=_moment,
        metavar="SECOND",
        help=f"restore to this second, in RFC 3339, or to the {LATEST} that all tables have",
    )
    task.add_argument(
        "--serve", metavar="MOMENT", help="put tables into service that end in `-restored-MOMENT`"
    )
    task.add_argument("--undo", action="store_true", help="let the stack's own tables serve")
    parser.add_argument(
        "--manifest",
        type=Path,
        help="compare every row with this manifest, and serve only equal tables (default: compare "
        "them with the tables in use)",
    )
    parser.add_argument("--only-tables", action="store_true", help="put nothing into service")
    parser.add_argument(
        "--context",
        "-c",
        action="append",
        default=[],
        help="a choice in place of one of the last deployment, such as search=dynamodb",
    )
    return parser


def _moment(text: str) -> datetime | str:
    """Return the second, or `LATEST`."""
    if text == LATEST:
        return text
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("needs an offset, such as Z")
    return moment.astimezone(UTC)


def _lost(moment: datetime) -> str:
    seconds = max(0, int((datetime.now(UTC) - moment).total_seconds()))
    return f"{seconds} seconds" if seconds < 600 else f"{seconds // 60} minutes"  # noqa: PLR2004 - ten minutes


if __name__ == "__main__":
    main()
