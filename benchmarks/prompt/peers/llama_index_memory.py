"""LlamaIndex: `Memory` with its memory blocks, and the agent's system prompt before the
messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import ChatMessage, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.memory import (
    FactExtractionMemoryBlock,
    InsertMethod,
    Memory,
    StaticMemoryBlock,
    VectorMemoryBlock,
)
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from benchmarks.prompt import conversation
from benchmarks.prompt.embedder import vector
from benchmarks.prompt.peers.harness import Chat, encoding, main

NO_FACTS = "<facts></facts>"
ABOUT = "The user's name is Sarah."


class FindsNothing(CustomLLM):
    """A model that finds no facts. No turn of this conversation states a fact, and `learn` adds the
    facts instead.
    """

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text=NO_FACTS)

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        yield self.complete(prompt)


class Words(BaseEmbedding):
    """The embedder that all memories of this benchmark use."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return vector(query)


class InMemory(BasePydanticVectorStore):
    """A vector store that finds the nearest texts by a dot product. It replaces the Chroma of the
    documentation.
    """

    stores_text: bool = True
    nodes: list[Any] = []  # noqa: RUF012 - a field, which pydantic copies

    @property
    def client(self) -> None:
        return None

    def add(self, nodes: Sequence[BaseNode], **_: Any) -> list[str]:
        self.nodes.extend(nodes)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        raise NotImplementedError

    def query(self, query: VectorStoreQuery, **_: Any) -> VectorStoreQueryResult:
        question = query.query_embedding or []
        near = sorted(
            ((_dot(question, node), at) for at, node in enumerate(self.nodes)), reverse=True
        )
        nodes = [(self.nodes[at], score) for score, at in near[: query.similarity_top_k]]
        return VectorStoreQueryResult(
            nodes=[node for node, _ in nodes],
            similarities=[score for _, score in nodes],
            ids=[node.node_id for node, _ in nodes],
        )


def _dot(question: Sequence[float], node: Any) -> float:
    embedding: Sequence[float] = node.embedding
    return sum(a * b for a, b in zip(question, embedding, strict=True))


class WithBlocks:
    """A memory with blocks. `blocks` is "documented" (static, facts, vector) or "facts". `insert`
    is an `InsertMethod`.
    """

    def __init__(self, *, folder: str, blocks: str, insert: str, limit: int | None) -> None:
        self._runner = asyncio.Runner()
        documented = blocks == "documented"
        self._facts = FactExtractionMemoryBlock(
            name="extracted_info", llm=FindsNothing(), max_facts=50, priority=int(documented)
        )
        self._topics: dict[str, str] = {}
        limited = {} if limit is None else {"token_limit": limit}
        self._memory = Memory.from_defaults(
            session_id="turns",
            memory_blocks=self._all_blocks() if documented else [self._facts],
            insert_method=InsertMethod(insert),
            tokenizer_fn=lambda text: encoding().encode(text, disallowed_special=()),
            async_database_uri=f"sqlite+aiosqlite:///{folder}/memory.db",
            **limited,
        )

    def _all_blocks(self) -> list[Any]:
        """Return all blocks, with the names and priorities of the documentation."""
        return [
            StaticMemoryBlock(name="core_info", static_content=ABOUT, priority=0),
            self._facts,
            VectorMemoryBlock(
                name="vector_memory", vector_store=InMemory(), priority=2, embed_model=Words()
            ),
        ]

    def learn(self, topic: str, statement: str) -> None:
        self._topics[topic] = statement
        self._facts.facts = list(self._topics.values())

    def ask(self, question: str) -> Sequence[Chat]:
        self._put("user", question)
        messages = self._runner.run(self._memory.aget())
        chats = [{"role": str(chat.role.value), "content": str(chat.content)} for chat in messages]
        return [{"role": "system", "content": conversation.SYSTEM}, *chats]

    def answered(self, text: str) -> None:
        self._put("assistant", text)

    def _put(self, role: str, text: str) -> None:
        self._runner.run(self._memory.aput(ChatMessage(role=role, content=text)))


if __name__ == "__main__":
    main(WithBlocks)
