"""The context as routes answer it, alone or beside what was done."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.event_handler import Response

from palimpsest.api import answers
from palimpsest.api.call import call
from palimpsest.api.outgoing import answered
from palimpsest.api.requests import LONGEST_WAIT, ContextOptions
from palimpsest.conversations.messages import Chat
from palimpsest.observability import logger
from palimpsest.scope import SessionScope


def answered_with_context(
    done: dict[str, Any], scope: SessionScope, options: ContextOptions, *, given: Chat | None = None, status: int = 200
) -> Response[str]:
    """The answer to something that is already done, with the context: it stands whatever becomes of the context."""
    try:
        context = context_of(scope, options, given=given)
        return answered({**done, "context": context, "degraded": context["degraded"]}, status=status)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must not deny what was committed
        logger.warning("no context beside the answer", extra={"error": type(error).__name__})
        return answered({**done, "context": None, "degraded": ["context"]}, status=status)


def context_of(scope: SessionScope, options: ContextOptions, *, given: Chat | None = None) -> dict[str, Any]:
    if options.compact is not None:
        call().windows.prune.compact(scope, wait=call().patience(LONGEST_WAIT))
    read = call().windows.context
    context = read(scope, given=given, max_tokens=options.max_tokens, model=options.model, at=options.at)
    return answers.context(context, explain=options.explain)
