"""The receipts of erasures and redactions. They list each store."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.fields import Moment, rfc3339_or_null
from palimpsest.jobs.job import Job


class Reached(TypedDict):
    state: Literal["pending", "done"]
    count: Annotated[int, Field(description="How much was removed")]


class Indexed(TypedDict):
    """Whether the search index is free of the removed data. Even before that, searches return
    nothing that the tables do not have.
    """

    state: Literal["pending", "done"]


class Expires(TypedDict):
    """Copies that expire by themselves, and the time when the last of them expires."""

    state: Literal["expires"]
    until: Moment


class Stays(TypedDict):
    """Data that remains for good."""

    state: Literal["stays"]


class Nameless(TypedDict):
    """Data that remains without the user's name."""

    state: Literal["pending", "nameless"]


class Receipt(TypedDict):
    """The receipt of a user's erasure, store by store."""

    sessions: Reached
    memories: Annotated[
        Reached, Field(description="Counted in items, including items that belong to memories")
    ]
    index: Indexed
    usage: Annotated[Nameless, Field(description="Counts of each day, which belong to the tenant")]
    jobs: Annotated[Expires, Field(description="Jobs, which hold only ids and counts")]
    tombstones: Annotated[
        Expires, Field(description="Traces of sessions: the ids of session and user, no text")
    ]
    keys: Annotated[
        Expires, Field(description="Idempotency keys, with hashes and the ids of results")
    ]
    queues: Annotated[Expires, Field(description="Dead letters, which name jobs")]
    streams: Annotated[Expires, Field(description="The tables' logs of changes")]
    exports: Annotated[
        Reached, Field(description="The user's exports, and exports of the whole tenant")
    ]
    logs: Annotated[
        Expires, Field(description="Hashes of the user's id, made with a key that is in no log")
    ]
    backups: Expires
    epoch: Annotated[
        Stays,
        Field(
            description="The user's id, and how often the user was erased, so that late work is "
            "recognised"
        ),
    ]


class RedactionReceipt(TypedDict):
    """The receipt of a redaction: the stores from which the old text of the message is removed."""

    messages: Reached
    summaries: Annotated[
        Reached,
        Field(
            description="Summaries that may have held the old text. Their text was removed, and "
            "they are made anew"
        ),
    ]
    memories: Annotated[
        Reached, Field(description="Memories that came from the message alone, with their quotes")
    ]
    exports: Annotated[
        Reached,
        Field(description="The user's and the whole tenant's exports that may hold the old text"),
    ]
    index: Indexed
    streams: Annotated[Expires, Field(description="The tables' logs of changes")]
    backups: Expires


def receipt_of(job: Job, *, log_days: int) -> Receipt | RedactionReceipt:
    """Return the job's receipt so far. The states of backups and other copies that expire by
    themselves have the time of their expiry. Logs are kept for `log_days`.
    """
    from palimpsest.memory.removal.taken_back import redaction_receipt
    from palimpsest.memory.removal.users import receipt

    is_erasure = job.kind == "erase"
    stores = receipt(job, log_days=log_days) if is_erasure else redaction_receipt(job)
    for store in stores.values():
        if "until" in store:
            store["until"] = rfc3339_or_null(store["until"])
    return cast(Receipt, stores)
