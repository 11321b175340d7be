"""The list of all kinds of jobs, with the queue of each and how it is started again.

`palimpsest.payloads` lists the payload of each kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

TenantJobKind = Literal[
    "summarize",
    "delete",
    "withdraw",
    "redact",
    "take_back",
    "extract",
    "flush",
    "forget",
    "forget_sessions",
    "erase",
    "retain",
    "upload",
    "export",
    "import",
]
KIND = re.compile(r"[a-z_]{1,64}")
"""The form of the name of a kind, also of a kind that only a newer release knows."""
JobKind = Literal[TenantJobKind, "reindex"]
"""The kinds of jobs. `reindex` belongs to the operator, so no tenant ever sees such a job."""


Queue = Literal["summarize", "extract", "sweep", "reindex"]
"""The queues. Each has the name of the function that reads it."""
Family = Literal["overflow", "extraction", "steps", "upload"]
"""The families of kinds. Kinds of one family are started again in the same way. Jobs of `steps` do
their work in one or more steps.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    queue: Queue
    family: Family


KINDS: Mapping[JobKind, Kind] = {
    "summarize": Kind("summarize", "overflow"),
    "flush": Kind("extract", "overflow"),
    "delete": Kind("sweep", "steps"),
    "withdraw": Kind("sweep", "steps"),
    "redact": Kind("sweep", "steps"),
    "take_back": Kind("sweep", "steps"),
    "extract": Kind("extract", "extraction"),
    "forget": Kind("sweep", "steps"),
    "forget_sessions": Kind("sweep", "steps"),
    "erase": Kind("sweep", "steps"),
    "retain": Kind("sweep", "steps"),
    "upload": Kind("sweep", "upload"),
    "export": Kind("sweep", "steps"),
    "import": Kind("sweep", "steps"),
    "reindex": Kind("reindex", "steps"),
}
assert set(KINDS) == set(get_args(JobKind))  # noqa: S101 - a kind without an entry stops the import
