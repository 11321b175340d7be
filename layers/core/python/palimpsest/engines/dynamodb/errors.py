"""The translation of DynamoDB's errors into the library's errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from palimpsest.errors import CommitLost, PalimpsestError, Unavailable

ENGINE_ERRORS = (ClientError, BotoCoreError)

_LOST_REASONS = frozenset({"ConditionalCheckFailed", "TransactionConflict", "DuplicateItem"})

_BUSY_REASONS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


class Refused(PalimpsestError):
    """DynamoDB calls the request itself invalid. Either an item is over the size limit, or the
    adapter has a defect.
    """


class FirstFailed(CommitLost):
    """The condition of a transaction's first action failed. `item` is the stored item that the
    condition was checked on.
    """

    def __init__(self, item: Mapping[str, Any]) -> None:
        super().__init__("Another writer changed this first; nothing was written.")
        self.item = item


class Busy(Unavailable):
    """Nothing was written, and botocore has not retried. The same request may work in a moment."""


def translated(error: ClientError | BotoCoreError) -> PalimpsestError:
    """Return the library's error to raise in place of a botocore error.

    - `FirstFailed` if the condition of a transaction's first action failed and the stored item is
      known.
    - `CommitLost` if another condition failed, or if the transaction conflicted with another one.
    - `Busy` if a single write conflicted with a transaction, or if a transaction was throttled.
    - `Refused` if the request is invalid.
    - `Unavailable` otherwise, for example for throttling, a time-out, no connection, an internal
      error, or a permission that is not in effect yet.
    """
    code = error.response.get("Error", {}).get("Code", "") if isinstance(error, ClientError) else ""
    reasons = {reason["Code"] for reason in _cancellation_reasons(error)} - {"None"}
    item = _found_by_the_first(error)
    if item is not None:
        return FirstFailed(item)
    if code == "ConditionalCheckFailedException" or reasons & _LOST_REASONS:
        return CommitLost("Another writer changed this first; nothing was written.")
    if code == "TransactionConflictException" or reasons & _BUSY_REASONS:
        return Busy("The store is busy; try again.")
    if code == "ValidationException" or reasons == {"ValidationError"}:
        return Refused("The store refused the request.")
    return Unavailable("The store did not answer; try again.")


def _found_by_the_first(error: Exception) -> Mapping[str, Any] | None:
    """Return the stored item that the condition of the first action was checked on. None if that
    condition held, or if the action did not ask for the item.
    """
    item: Mapping[str, Any] | None = next(iter(_cancellation_reasons(error)), {}).get("Item")
    return item


def _cancellation_reasons(error: Exception) -> Sequence[Mapping[str, Any]]:
    """Return one entry for each action of a cancelled transaction. An action that did not cause the
    cancellation has the code "None".
    """
    return error.response.get("CancellationReasons", ()) if isinstance(error, ClientError) else ()
