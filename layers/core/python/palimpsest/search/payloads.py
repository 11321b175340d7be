"""The payload of the job that rebuilds the search index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import StringConstraints

from palimpsest.jobs.payloads import Payload, Place

ModelName = Annotated[str, StringConstraints(pattern=r"^[\w.:/@+ -]{1,200}$")]
ReindexPhase = Literal["prepare", "messages", "records", "switch", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexPayload(Payload):
    """The progress of a reindexing.

    `after` is the next place in the list of sessions or users. `within` names the current session
    or user, and `seq` or `page` is the progress in it. `left_out` counts the items that the model
    refused to make a vector for; only their words are indexed. `model` is the embedding model that
    the index is built for; None until the first step is done.
    """

    phase: ReindexPhase = "prepare"
    after: Place | None = None
    within: Place | None = None
    seq: int = 0
    page: Place | None = None
    indexed: int = 0
    left_out: int = 0
    model: ModelName | None = None

    @property
    def is_done(self) -> bool:
        return self.phase == "done"
