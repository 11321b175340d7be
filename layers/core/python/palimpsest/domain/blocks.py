"""The blocks of long-term memory that a context may hold: how each is configured, and what it brings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

BlockType = Literal["static", "extractive", "vector"]
PRIORITY: tuple[BlockType, ...] = ("static", "extractive", "vector")
"""Who takes room first, and the order in which blocks stand."""
STORING: frozenset[BlockType] = frozenset({"extractive", "vector"})
"""What a conversation is flushed into; nothing that is said in one changes static facts."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StaticBlock(_Block):
    """Facts that the tenant states for all its users, or for those of one agent."""

    type: Literal["static"]


class ExtractiveBlock(_Block):
    """What was extracted from the user's conversations: the most telling facts, ranked without a model.

    `extraction_prompt` tells the extraction what to look for. With a `retrieval_prompt` a model picks the facts, where
    a message is given.
    """

    type: Literal["extractive"]
    max_tokens: int = Field(2_000, ge=50, le=20_000)
    extraction_prompt: str | None = Field(None, min_length=1, max_length=20_000)
    retrieval_prompt: str | None = Field(None, min_length=1, max_length=20_000)


class VectorBlock(_Block):
    """Past interactions that resemble a given message by meaning; `min_score` is a cosine similarity."""

    type: Literal["vector"]
    k: int = Field(5, ge=1, le=50)
    min_score: float | None = Field(None, ge=-1, le=1)


Block = Annotated[StaticBlock | ExtractiveBlock | VectorBlock, Field(discriminator="type")]
ALL_BLOCKS: tuple[Block, ...] = (
    StaticBlock(type="static"),
    ExtractiveBlock(type="extractive"),
    VectorBlock(type="vector"),
)
