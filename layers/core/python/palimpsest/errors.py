"""The tree of all errors; `api/problems.py` maps them to HTTP.

PalimpsestError
├── BadRequest            it can't be parsed or named
├── Unprocessable         it breaks the schema or a rule
│   └── BudgetTooSmall    not even the system message and 100 tokens more fit
├── Unauthenticated       no tenant in the call
│   └── InvalidKey        its key is not valid
├── MissingScope          its credential lacks a scope that the call needs
├── NotFound              unknown, deleted, expired or another tenant's: all answer alike
├── ReadOnlyBlock         a conversation tries to change what only the tenant states
├── Conflict              the state contradicts the call
├── TooLarge              over a documented limit
├── LimitReached          a limit that the tenant has set for itself
├── Unavailable           nothing was written, or a retry with the same key is safe: try again
├── CommitLost            another writer was first: use cases read again and never raise it
├── DamagedJob            what is stored of a job can't be read: no further try helps
└── ModelFailed           a model call gave nothing usable
    ├── ModelUnavailable  time-out, 429, 5xx, connection: the same call may work later
    │   └── CostLimitReached  the tenant's models have cost what they may in a month
    └── ModelOutputInvalid  an answer came, but not one that can be used
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field that is wrong: `field` is a path such as `messages.0.role`."""

    field: str
    message: str


class PalimpsestError(Exception):
    """Base of all: `code` is stable and machine-readable, `detail` is for people and holds no
    stored text.
    """

    code = "internal_error"
    retryable = False

    def __init__(
        self, detail: str, *, code: str | None = None, errors: tuple[FieldError, ...] = ()
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code or type(self).code
        self.errors = errors


class BadRequest(PalimpsestError):
    code = "bad_request"


class Unprocessable(PalimpsestError):
    code = "invalid"


class BudgetTooSmall(Unprocessable):
    """`minimum` is the smallest budget, in tokens, that this session's context fits."""

    code = "budget_too_small"

    def __init__(self, *, minimum: int) -> None:
        super().__init__(
            f"The budget is too small: this session needs at least {minimum} tokens.",
            errors=(FieldError("max_tokens", f"at least {minimum}"),),
        )
        self.minimum = minimum


class Unauthenticated(PalimpsestError):
    code = "unauthenticated"


class InvalidKey(Unauthenticated):
    code = "invalid_key"


class MissingScope(PalimpsestError):
    """`needed` are the scopes of the call, `missing` the first that the credential lacks."""

    code = "missing_scope"

    def __init__(self, *, missing: str, needed: tuple[str, ...]) -> None:
        super().__init__(f"The credential lacks the scope {missing}.")
        self.needed = needed


class NotFound(PalimpsestError):
    code = "not_found"


class ReadOnlyBlock(PalimpsestError):
    code = "read_only_block"


class Conflict(PalimpsestError):
    code = "conflict"


class TooLarge(PalimpsestError):
    code = "too_large"


class LimitReached(PalimpsestError):
    """`limit` names what is limited to `most`. `retry_after` is in how many seconds the same call
    works again; None: not before something is removed, or the limit is raised.
    """

    code = "limit_reached"

    def __init__(
        self, detail: str, *, code: str, limit: str, most: int, retry_after: int | None = None
    ) -> None:
        super().__init__(detail, code=code)
        self.limit = limit
        self.most = most
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:  # type: ignore[override]
        return self.retry_after is not None


class Unavailable(PalimpsestError):
    code = "unavailable"
    retryable = True


class CommitLost(PalimpsestError):
    code = "commit_lost"
    retryable = True


class DamagedJob(PalimpsestError):
    code = "damaged_job"


class ModelFailed(PalimpsestError):
    """`model` is the one that was asked, `spent` what the failed calls used (see
    `models.catalogue.priced`). With `was_called` false the last of them was not made.
    """

    code = "model_failed"
    retryable = True
    model: str | None = None
    was_called = True
    spent: Mapping[str, int] = MappingProxyType({})


class ModelUnavailable(ModelFailed):
    """`retry_after` is what the provider asked for, in seconds, or None."""

    code = "model_unavailable"

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class CostLimitReached(ModelUnavailable):
    """No model was called. `retry_after` is in how many seconds the next month begins."""

    code = "model_cost_limit"
    was_called = False

    def __init__(self, *, retry_after: float) -> None:
        super().__init__(
            "The tenant's models have cost what they may this month.", retry_after=retry_after
        )


class ModelOutputInvalid(ModelFailed):
    code = "model_output_invalid"
