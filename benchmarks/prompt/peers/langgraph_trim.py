"""LangGraph: `trim_messages`, and the memories of a store in the system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage, convert_to_openai_messages
from langchain_core.messages.utils import trim_messages
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from benchmarks.prompt import conversation
from benchmarks.prompt.embedder import DIMENSION, vector
from benchmarks.prompt.peers.harness import Chat, main, weight

NAMESPACE = ("memories", "sarah")
THREAD: Any = {"configurable": {"thread_id": "turns"}}


class InTheSystemPrompt:
    """Memories in the system prompt. With `search`, the question selects the memories, as
    documented. Otherwise all memories are in the prompt.
    """

    def __init__(self, *, folder: str, limit: int, search: bool) -> None:
        self._limit, self._search = limit, search
        self._sent: list[BaseMessage] = []
        self._store = InMemoryStore(
            index={"embed": lambda texts: [vector(text) for text in texts], "dims": DIMENSION}
        )
        builder = StateGraph(MessagesState)
        builder.add_node("call_model", self._call_model)
        builder.add_edge(START, "call_model")
        self._graph = builder.compile(checkpointer=InMemorySaver(), store=self._store)

    def _call_model(self, state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        question = str(state["messages"][-1].content)
        if self._search:
            memories = store.search(NAMESPACE, query=question)
        else:
            memories = store.search(NAMESPACE, limit=100)
        info = "\n".join([memory.value["data"] for memory in memories])
        self._sent = trim_messages(
            [SystemMessage(f"{conversation.SYSTEM} User info: {info}"), *state["messages"]],
            strategy="last",
            token_counter=_count,
            max_tokens=self._limit,
            start_on="human",
            end_on=("human", "tool"),
            include_system=True,
        )
        return {"messages": []}

    def learn(self, topic: str, statement: str) -> None:
        self._store.put(NAMESPACE, topic, {"data": statement})

    def ask(self, question: str) -> Sequence[Chat]:
        self._graph.invoke({"messages": [{"role": "user", "content": question}]}, THREAD)
        chats: Any = convert_to_openai_messages(self._sent)
        return [{"role": chat["role"], "content": chat["content"]} for chat in chats]

    def answered(self, text: str) -> None:
        state = {"messages": [{"role": "assistant", "content": text}]}
        self._graph.update_state(THREAD, state, as_node="call_model")


def _count(messages: Sequence[BaseMessage]) -> int:
    return sum(weight(str(message.content)) for message in messages)


if __name__ == "__main__":
    main(InTheSystemPrompt)
