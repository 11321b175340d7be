"""The memory blocks of a session's contexts: their types, names and configurations."""

from __future__ import annotations

import json
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

BlockType = Literal["static", "extractive", "vector"]
PRIORITY: tuple[BlockType, ...] = ("static", "extractive", "vector")
"""The order in which blocks get room, and in which a context shows them."""
STORING: frozenset[BlockType] = frozenset({"extractive", "vector"})
"""The blocks into which a flush stores messages. The static block is not one of them, because only
the tenant changes static facts.
"""

MAX_PROMPT_BYTES = 6_000  # three prompts fit into the stored configuration of a session


def _short_enough(prompt: str) -> str:
    size = len(json.dumps(prompt, ensure_ascii=False).encode())
    if size > MAX_PROMPT_BYTES:
        message = f"has {size} bytes; at most {MAX_PROMPT_BYTES} are allowed"
        raise ValueError(message)
    return prompt


Prompt = Annotated[
    str, Field(min_length=1, max_length=MAX_PROMPT_BYTES), AfterValidator(_short_enough)
]


OUTER_TAG = "memory"
"""The tag around the texts of all blocks."""


def _not_reserved(name: str) -> str:
    if name.lower() == OUTER_TAG or name.lower().startswith("xml"):
        message = f"{name!r} is reserved"
        raise ValueError(message)
    return name


BlockName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$",
        description="The name of the block, which is the tag around its text and which `explain` "
        "shows. Default: its type, with the tag `<type>_memory`",
    ),
    AfterValidator(_not_reserved),
]


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class StaticBlock(_Block):
    """Facts that the tenant states for all its users, or for the users of one agent."""

    type: Literal["static"]
    name: BlockName = "static"


class ExtractiveBlock(_Block):
    """The most informative facts that were extracted from the user's conversations. They are ranked
    without a model.

    `extraction_prompt` tells the extraction which facts to look for. With a `retrieval_prompt`, a
    model picks the facts for a given message.
    """

    type: Literal["extractive"]
    name: BlockName = "extractive"
    max_tokens: int = Field(2_000, ge=50, le=20_000)
    extraction_prompt: Prompt | None = None
    retrieval_prompt: Prompt | None = None


class VectorBlock(_Block):
    """Past messages that are similar in meaning to a given message. `min_score` is a cosine
    similarity.
    """

    type: Literal["vector"]
    name: BlockName = "vector"
    k: int = Field(5, ge=1, le=50)
    min_score: float | None = Field(None, ge=-1, le=1)


Block = Annotated[StaticBlock | ExtractiveBlock | VectorBlock, Field(discriminator="type")]
ALL_BLOCKS: tuple[Block, ...] = (
    StaticBlock(type="static"),
    ExtractiveBlock(type="extractive"),
    VectorBlock(type="vector"),
)


def tag_of(block: Block) -> str:
    """Return the tag around the block's text. It is the block's own name if it has one, otherwise
    `<type>_memory`.
    """
    return f"{block.type}_memory" if block.name == block.type else block.name


SomeBlock = TypeVar("SomeBlock", bound=Block)
