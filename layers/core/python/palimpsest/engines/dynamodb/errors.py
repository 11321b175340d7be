"""Translates DynamoDB's errors into the library's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from palimpsest.errors import CommitLost, PalimpsestError, Unavailable

ENGINE_ERRORS = (ClientError, BotoCoreError)

_LOST_REASONS = frozenset({"ConditionalCheckFailed", "TransactionConflict", "DuplicateItem"})

_BUSY_REASONS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


class Refused(PalimpsestError):
    """The engine calls the request itself invalid: an item is over its limit, or the adapter is
    wrong.
    """


class FirstFailed(CommitLost):
    """The condition of a transaction's first action failed; `item` is what that one found."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        super().__init__("Another writer was first.")
        self.item = item


class Busy(Unavailable):
    """Nothing was written, and botocore has not tried again: the same request may work in a
    moment.
    """


def translated(error: ClientError | BotoCoreError) -> PalimpsestError:
    """The error to raise from `error`.

    `CommitLost` if a condition failed, or a transaction met another one. `Busy` if a single write
    met a transaction, or a transaction was throttled. `Refused` if the request is invalid.
    Otherwise `Unavailable`: throttled, timed out, no connection, internal, no permission yet.
    """
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    reasons = {reason["Code"] for reason in _cancellation_reasons(error)} - {"None"}
    found = _found_by_the_first(error)
    if found is not None:
        return FirstFailed(found)
    if code == "ConditionalCheckFailedException" or reasons & _LOST_REASONS:
        return CommitLost("Another writer was first.")
    if code == "TransactionConflictException" or reasons & _BUSY_REASONS:
        return Busy("The store is busy; try again.")
    if code == "ValidationException" or reasons == {"ValidationError"}:
        return Refused("The store refused the request.")
    return Unavailable("The store did not answer; try again.")


def _found_by_the_first(error: Exception) -> Mapping[str, Any] | None:
    """The item that the first action's condition was checked on, if it failed and asked for the
    item.
    """
    found: Mapping[str, Any] | None = next(iter(_cancellation_reasons(error)), {}).get("Item")
    return found


def _cancellation_reasons(error: Exception) -> Sequence[Mapping[str, Any]]:
    """Why a transaction was cancelled: an entry for each of its actions, whose code is "None" if it
    was no reason.
    """
    return error.response.get("CancellationReasons", ()) if isinstance(error, ClientError) else ()
