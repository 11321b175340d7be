"""Middleware of LangChain's `create_agent` that gives an agent memory.

agent = create_agent(model, tools, middleware=[PalimpsestMiddleware(user="sarah")])
agent.invoke({"messages": [...]}, {"configurable": {"thread_id": "monday"}})
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any

import anyio.to_thread
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AnyMessage, BaseMessage, SystemMessage
from langchain_core.messages.utils import convert_to_messages, convert_to_openai_messages
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config

from palimpsest_client.blocking import Palimpsest, Session
from palimpsest_client.integrations.langgraph import used_of
from palimpsest_client.said import Message
from palimpsest_client.wrapping import Heard, mark_of

SEARCH = "search_memory_tool"
DESCRIPTION = (
    "Search and recall relevant memories about the user. Use this tool when you need to "
    "personalize your response based on user preferences, recall something the user mentioned "
    "before, or reference past interactions."
)
MOST_SESSIONS = 1_000
"""One process remembers the last messages of this many sessions. The last messages of other
sessions are read again.
"""
Who = str | Callable[[Any], str]


class PalimpsestMiddleware(AgentMiddleware[Any, Any, Any]):
    """Stores what the user, the model and the tools say, and sends the model the session's context
    in place of the transcript. The context is within its budget, and has memories of the user.

    `user` and `session` are ids, or functions that get the run's `Runtime` and return ids. Without
    a `session`, the run's `thread_id` is the session. With `search`, the agent has a tool that
    searches the user's memories. The agent's own state and its checkpoints do not change.
    """

    def __init__(
        self,
        *,
        user: Who,
        session: Who | None = None,
        memory: Palimpsest | None = None,
        search: bool = True,
    ) -> None:
        super().__init__()
        self._user, self._session = user, session
        self._memory = memory or Palimpsest()
        self._heard = lru_cache(MOST_SESSIONS)(self._opened)
        self.tools: Sequence[BaseTool] = [self._search_tool()] if search else []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the session's context, and store its reply."""
        user, session = self._ids(request.runtime)
        response = handler(self._remembered(request, user, session))
        self._store(response, user, session)
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Do the same as `wrap_model_call`, with the service's calls in a thread."""
        user, session = self._ids(request.runtime)
        remembered = await anyio.to_thread.run_sync(self._remembered, request, user, session)
        response = await handler(remembered)
        await anyio.to_thread.run_sync(self._store, response, user, session)
        return response

    def _ids(self, runtime: Any) -> tuple[str, str]:
        """Return the ids of user and session. Raises `ValueError` without a `thread_id`."""
        user = _id(self._user, runtime)
        if self._session is not None:
            return user, _id(self._session, runtime)
        thread = get_config().get("configurable", {}).get("thread_id")
        if not thread:
            raise ValueError(
                'Name the conversation: invoke the agent with {"configurable": {"thread_id": …}}, '
                "or give the middleware a `session`."
            )
        return user, str(thread)

    def _opened(self, user: str, session: str) -> tuple[Session, Heard]:
        opened = self._memory.session(session, user=user, tools=False)
        return opened, Heard(opened._calls)  # noqa: SLF001 - our own

    def _remembered(self, request: ModelRequest[Any], user: str, session: str) -> ModelRequest[Any]:
        """Store the new messages, and return the request with the session's context. Messages of
        the agent are sent as they are.
        """
        opened, heard = self._heard(user, session)
        system = [] if request.system_message is None else [request.system_message]
        own = [*system, *request.messages]
        chats = [_chat(message) for message in own]
        turn = opened._connection.run(heard.turn(chats, "openai"))  # noqa: SLF001 - our own
        by_mark = dict(zip(map(mark_of, chats), own, strict=True))
        context = [by_mark.get(mark_of(message)) or _message(message) for message in turn.messages]
        return request.override(
            system_message=_joined(
                [message for message in context if isinstance(message, SystemMessage)]
            ),
            messages=[message for message in context if not isinstance(message, SystemMessage)],
        )

    def _store(self, response: ModelResponse[Any], user: str, session: str) -> None:
        opened, heard = self._heard(user, session)
        for message in response.result:
            steps = heard.store(_chat(message), used_of(message))
            opened._connection.run(steps)  # noqa: SLF001 - our own

    def _search_tool(self) -> BaseTool:
        def search(query: str, runtime: ToolRuntime) -> str:
            user, session = self._ids(runtime)
            result = self._memory.user(user).call_tool(SEARCH, {"query": query}, session=session)
            return str(result["content"])

        return StructuredTool.from_function(search, name=SEARCH, description=DESCRIPTION)


def _id(who: Who, runtime: Any) -> str:
    return who if isinstance(who, str) else who(runtime)


def _chat(message: BaseMessage) -> Message:
    chat = convert_to_openai_messages(message)
    if not isinstance(chat, dict):
        raise TypeError(f"{type(message).__name__} is not a chat message.")
    return chat


def _message(chat: Message) -> AnyMessage:
    (message,) = convert_to_messages([chat])
    return message


def _joined(messages: Sequence[SystemMessage]) -> SystemMessage | None:
    """Return the messages as one, because some models take only one."""
    if len(messages) < 2:  # noqa: PLR2004 - none, or one
        return next(iter(messages), None)
    return SystemMessage("\n\n".join(message.text for message in messages))
