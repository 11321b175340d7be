"""The tree of all errors; `api/problems.py` maps them to HTTP.

PalimpsestError
├── BadRequest            the request can't be parsed, or an id is not valid
├── Unprocessable         the request breaks the schema or a rule
│   └── BudgetTooSmall    not even the system message and 100 tokens more fit
├── Unauthenticated       no tenant in the call
│   └── InvalidKey        its key is not valid
├── MissingScope          its credential lacks a scope that the call needs
├── NotFound              unknown, deleted, expired or another tenant's
├── ReadOnlyBlock         a conversation tries to change facts of the tenant
├── Conflict              the state contradicts the call
├── TooLarge              over a documented limit
├── LimitReached          a limit that the tenant has set for itself
├── Unavailable           nothing was written, or a retry with the same key is safe: try again
├── CommitLost            another writer was first; use cases read again and do not raise it
├── DamagedJob            the stored job can't be read, so a retry does not help
├── NewerJob              only a newer release can do the job, so it waits
└── ModelFailed           a model call gave no usable result
    ├── ModelUnavailable  time-out, 429, 5xx, connection: the same call may work later
    │   └── CostLimitReached  the tenant's cost limit of the month is reached
    └── ModelOutputInvalid  the model's answer can't be used
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
    """Base of all errors. `code` is stable and machine-readable. `detail` is for people and holds
    no stored text.
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
    """The budget is too small for the session's context. `minimum` is the smallest budget that it
    fits, in tokens.
    """

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
    """The credential lacks a scope. `needed` are the scopes that the call needs. `missing` is the
    first of them that the credential lacks.
    """

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
    """A limit of the tenant is reached. `limit` is its name, and `most` is its value. The same call
    works again after `retry_after` seconds. If `retry_after` is None, it works only after something
    was removed or the limit was raised.
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


class NewerJob(PalimpsestError):
    code = "newer_job"


class ModelFailed(PalimpsestError):
    """A model call failed. `model` is the model's name. `spent` is the usage of the failed calls
    (see `models.catalogue.priced`). If `was_called` is false, the last call was not made.
    """

    code = "model_failed"
    retryable = True
    model: str | None = None
    was_called = True
    spent: Mapping[str, int] = MappingProxyType({})


class ModelUnavailable(ModelFailed):
    """The model can't be reached now. `retry_after` is the number of seconds that the provider asks
    callers to wait, or None.
    """

    code = "model_unavailable"

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class CostLimitReached(ModelUnavailable):
    """The tenant's cost limit is reached, so no model was called. `retry_after` is the number of
    seconds until the next month begins.
    """

    code = "model_cost_limit"
    was_called = False

    def __init__(self, *, retry_after: float) -> None:
        super().__init__(
            "The tenant's models have reached their cost limit for this month.",
            retry_after=retry_after,
        )


class ModelOutputInvalid(ModelFailed):
    code = "model_output_invalid"
