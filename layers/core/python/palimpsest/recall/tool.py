"""The tool with which a model searches a user's memories: its definition, and the answer to a call of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from palimpsest.conversations.messages import SEARCH_TOOL, Chat
from palimpsest.errors import NotFound
from palimpsest.recall.answer import USER_MEMORY, user_memory
from palimpsest.recall.question import RecallRequest, excerpt
from palimpsest.recall.recall import Recall, passage_of
from palimpsest.scope import UserScope
from palimpsest.text.analyser import content_terms

Format = Literal["openai", "anthropic"]

NAME = SEARCH_TOOL
DESCRIPTION = (
    "Search and recall relevant memories about the user. Use this tool when you need to personalize your response based"
    " on user preferences, recall something the user mentioned before, or reference past interactions."
)
PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What to look for, in a few words or as a question."}},
    "required": ["query"],
    "additionalProperties": False,
}
MOST_RECORDS = 5
MAX_LINE = 600  # characters of one memory in a tool message
UNUSABLE = (
    f"{USER_MEMORY}\n- The arguments can't be used: one JSON object with one string `query`, not empty, is needed."
)


def definition(form: Format) -> Mapping[str, Any]:
    if form == "anthropic":
        return {"name": NAME, "description": DESCRIPTION, "input_schema": PARAMETERS}
    return {"type": "function", "function": {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS}}


def check_name(name: str) -> None:
    """Raise `NotFound` (`tool_not_found`) unless there is a tool of this name."""
    if name != NAME:
        raise NotFound("There is no such tool.", code="tool_not_found")


@dataclass(frozen=True, slots=True)
class SearchTool:
    recall: Recall

    def __call__(
        self,
        scope: UserScope,
        arguments: object,
        *,
        tool_call_id: str | None = None,
        k: int = MOST_RECORDS,
        session: str | None = None,
    ) -> Chat:
        """Return a tool message that can be appended as it is. `arguments` is what the model wrote: JSON text or an
        object. What the window of the asking `session` holds is not repeated.

        Arguments that can't be used get an answer that says so: the model can call again. Raises `Unavailable`, and
        `NotFound` if the user has no such session.
        """
        query = _query(arguments)
        content = UNUSABLE if query is None else self._found(scope, query, k=k, session=session)
        message = {"role": "tool", "tool_call_id": tool_call_id, "content": content}
        return {name: value for name, value in message.items() if value is not None}

    def _found(self, scope: UserScope, query: str, *, k: int, session: str | None) -> str:
        recalled = self.recall(scope, RecallRequest(query=query, k=k, session=session))
        terms = content_terms(query)
        passages = [passage_of(one, user=scope.user) for one in recalled.memories]
        return user_memory([replace(one, content=excerpt(one.content, terms, limit=MAX_LINE)) for one in passages])


def _query(arguments: object) -> str | None:
    """The query in a call's arguments; None if there is none. Other arguments, such as a user's id, are ignored."""
    said = arguments
    if isinstance(arguments, str):
        try:
            said = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    query = said.get("query") if isinstance(said, Mapping) else None
    return query.strip() or None if isinstance(query, str) else None
