"""The memory configuration of a session: the budget, the strategy for a full window, and the memory
blocks of its contexts.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from palimpsest.conversations.blocks import (
    ALL_BLOCKS,
    STORING,
    Block,
    BlockType,
    Prompt,
    SomeBlock,
    tag_of,
)
from palimpsest.conversations.kept import Retention
from palimpsest.models.catalogue import window_of

MemoryAs = Literal["split", "user", "system", "tool_call", "none"]

TOOL_TOKENS = 120  # the definition of the tool that searches the user's memory, in any encoding
TOOL_SHARE = 10
"""A tool that the configuration does not ask for is included only if it takes at most the budget
divided by this number.
"""
MEMORY_ROOM_SHARE, MOST_MEMORY_ROOM = 8, 4_000
"""The room that a window leaves for memory: this part of the budget, but at most this many
tokens.
"""
MIN_SYSTEM_ROOM = 100  # tokens beside the system message, without which no turn could be shown
DEFAULT_MAX_TOKENS = 100_000
DEFAULT_RESERVE = 4_000

MEMORY_AS, INSERTS = "memory_as", "insert_into_system_prompt"
RETENTION, CONVERSATIONS = "retention", "conversations"
KEEP_TURNS, KEEP_MESSAGES = "keep_recent_turns", "summary_message_count"


class _Strategy(BaseModel):
    """The fields of every strategy. `max_tokens` is the budget of a context; if only `model` is
    given, the budget is derived from that model's window. `blocks` are the parts of long-term
    memory that a context shows, at most one of each type.

    `memory_as` decides where a context shows them. `split` shows them in two parts: the part that
    stays the same comes after the system message, and the part that depends on the question comes
    before the newest user message. `user` and `tool_call` show all of it after the system message,
    as a message of the user or as the answer of a tool. `system` shows it in the system message;
    `insert_into_system_prompt` is another name for that. `none` shows it only in `memory_prompt`.

    With `extract` auto, memories are extracted after each `max_buffer_turns` turns, once no message
    came for `extract_idle_seconds` (0 = then never), and when the session ends; with manual, only
    on request. `retention` sets for each kind how long this session
    and its memories are kept, and overrides the tenant's settings.

    With `auto_recall`, contexts include the tool that searches the user's memory, if the service
    has such a memory (`offers_search`). `max_records` limits the results of that tool, and each
    block of memories. `extraction_seconds` limits the time that a model takes to extract from one
    part of the conversation, including a repair. If it is None, each call has its usual limit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    max_tokens: int = Field(DEFAULT_MAX_TOKENS, ge=MIN_SYSTEM_ROOM, le=10_000_000)
    model: str | None = Field(None, min_length=1, max_length=128)
    reserve_tokens: int = Field(DEFAULT_RESERVE, ge=0)
    blocks: tuple[Block, ...] = Field(ALL_BLOCKS, strict=False)  # JSON has lists
    memory_as: MemoryAs = "split"
    insert_into_system_prompt: bool = False
    auto_recall: bool = True
    max_records: int | None = Field(None, ge=1, le=50)
    extraction_seconds: int | None = Field(None, ge=5, le=60)
    extract: Literal["auto", "manual"] = "auto"
    max_buffer_turns: int = Field(5, ge=1, le=1_000)
    extract_idle_seconds: int = Field(600, ge=0, le=30 * 24 * 3600)
    retention: Retention = Retention()

    @model_validator(mode="before")
    @classmethod
    def _budget_from_model(cls, data: Any) -> Any:
        """Set `max_tokens`, if it is missing, to the window of `model` minus `reserve_tokens`."""
        if (
            not isinstance(data, dict)
            or not isinstance(data.get("model"), str)
            or "max_tokens" in data
        ):
            return data
        window = window_of(data["model"])
        if window is None:
            message = (
                f"the context size of model {data['model'][:128]!r} is not known: give max_tokens"
            )
            raise ValueError(message)
        reserve = data.get("reserve_tokens", DEFAULT_RESERVE)
        return {**data, "max_tokens": window - reserve if isinstance(reserve, int) else window}

    @model_validator(mode="before")
    @classmethod
    def _one_place_under_two_names(cls, data: Any) -> Any:
        """Give `memory_as` and `insert_into_system_prompt` the same meaning. Raises `ValueError` if
        they contradict each other.
        """
        if not isinstance(data, dict) or not data.keys() & {MEMORY_AS, INSERTS}:
            return data
        place, inserts = data.get(MEMORY_AS), data.get(INSERTS)
        if (inserts is True and place not in (None, "system")) or (
            inserts is False and place == "system"
        ):
            message = f"{INSERTS} says that memory_as is system: they contradict each other"
            raise ValueError(message)
        return (
            {**data, MEMORY_AS: "system", INSERTS: True}
            if inserts is True or place == "system"
            else data
        )

    @model_validator(mode="after")
    def _one_block_of_each_type(self) -> Self:
        types = [block.type for block in self.blocks]
        if len(set(types)) < len(types):
            message = "at most one block of each type"
            raise ValueError(message)
        tags = {tag_of(block) for block in self.blocks}
        names = {block.name for block in self.blocks}
        if len(tags) < len(types) or len(names) < len(types):
            message = "two blocks have the same name"
            raise ValueError(message)
        return self

    def block(self, kind: type[SomeBlock]) -> SomeBlock | None:
        """Return the block of this type, or None."""
        return next((block for block in self.blocks if isinstance(block, kind)), None)

    @property
    def names(self) -> dict[BlockType, str]:
        """The name of each block, by the block's type."""
        return {block.type: block.name for block in self.blocks}

    @property
    def tags(self) -> dict[BlockType, str]:
        """The tag around the text of each block, by the block's type."""
        return {block.type: tag_of(block) for block in self.blocks}

    @property
    def names_blocks(self) -> bool:
        """Whether the configuration gives its blocks explicitly. Default blocks are left out if the
        service can't read them.
        """
        return "blocks" in self.model_fields_set

    def offers_search(self, budget: int) -> bool:
        """Return whether a context of this budget includes the tool that searches the user's
        memory. If the configuration does not decide this, the tool is included if there is a block
        of memories and the tool takes at most a tenth of the budget.
        """
        if "auto_recall" in self.model_fields_set:
            return self.auto_recall
        return (
            any(block.type in STORING for block in self.blocks)
            and budget >= TOOL_SHARE * TOOL_TOKENS
        )

    @property
    def messages_room(self) -> int:
        """The budget of a context minus the tokens of its search tool."""
        return self.max_tokens - (TOOL_TOKENS if self.offers_search(self.max_tokens) else 0)

    @property
    def memory_room(self) -> int:
        """The tokens of the budget that the window leaves free for memory. With a small budget it
        leaves none, and memory takes only what the window does not need.
        """
        if not self.blocks or self.max_tokens < TOOL_SHARE * TOOL_TOKENS:
            return 0
        return min(self.max_tokens // MEMORY_ROOM_SHARE, MOST_MEMORY_ROOM)

    @property
    def extract_turns(self) -> int:
        """The number of turns after which the next automatic extraction is due; 0 = never."""
        return self.max_buffer_turns if self.extract == "auto" else 0

    @property
    def extract_idle(self) -> int:
        """The seconds without a message after which the remaining messages are extracted; 0 =
        never.
        """
        return self.extract_idle_seconds if self.extract == "auto" else 0

    @property
    def trigger(self) -> int:
        """The weight of the window, in tokens, at which it overflows. It leaves room for the search
        tool.
        """
        return max(1, self.messages_room + 1)

    @property
    def keeps_window(self) -> bool:
        return True


class Summarize(_Strategy):
    """Old turns are folded into a rolling summary. The recent turns stay as they are.

    `keep_recent_turns` is the number of turns that stay. `summary_message_count` replaces it if it
    is given: at least this many of the newest messages stay, in whole turns. Nothing is folded
    until `fold_at_least` messages can be folded, unless the window exceeds `max_tokens`.
    """

    strategy: Literal["summarize"] = "summarize"
    trigger_ratio: float = Field(0.8, gt=0, le=1)
    keep_recent_turns: int = Field(5, ge=1, le=1_000)
    summary_message_count: int | None = Field(None, ge=1, le=1_000)
    fold_at_least: int = Field(2, ge=1, le=1_000)
    summary_prompt: Prompt | None = None
    summary_model: str | None = Field(None, min_length=1, max_length=128)
    max_summary_tokens: int | None = Field(None, ge=50)
    summary_as: Literal["user", "system", "tool_call"] = "user"

    @property
    def trigger(self) -> int:
        return min(super().trigger, _share(self.max_tokens, self.trigger_ratio))

    @property
    def summary_tokens(self) -> int:
        """The most tokens of a summary. It is never more than a quarter of the budget."""
        wanted = self.max_summary_tokens or min(4_000, max(500, self.max_tokens // 10))
        return min(wanted, self.max_tokens // 4)


class _Dropping(_Strategy):
    """A strategy that drops the oldest turns once the window, together with its tool and memory,
    exceeds `max_tokens`. Turns that take at most `low_water_ratio` of the budget then stay. With a
    low ratio the window overflows rarely, and until then a prompt cache can serve its beginning.
    """

    low_water_ratio: float = Field(0.5, gt=0, le=1)

    @property
    def trigger(self) -> int:
        return max(1, super().trigger - self.memory_room)

    @property
    def low_water(self) -> int:
        """The most tokens of a context after an overflow, unless the newest turn alone takes
        more.
        """
        return int(self.max_tokens * self.low_water_ratio)


class Trim(_Dropping):
    """On an overflow, only the newest turns stay: as many as fit into both `max_memory_tokens` and
    the low-water mark, but at least one.
    """

    strategy: Literal["trim"]
    max_memory_tokens: int = Field(500, ge=1)


class Delete(_Dropping):
    """On an overflow, the oldest `count` messages leave the window, in whole turns. This repeats
    until the low-water mark is reached.
    """

    strategy: Literal["delete"]
    count: int = Field(10, ge=1, le=100_000)


class Flush(_Strategy):
    """Old turns leave the window once each storing block of the session has stored them. The recent
    turns stay. If there is no such block, the old turns leave at once and remain only in the
    history.
    """

    strategy: Literal["flush"]
    max_stm_token_ratio: float = Field(0.5, gt=0, le=1)
    keep_recent_turns: int = Field(5, ge=1, le=1_000)

    @property
    def trigger(self) -> int:
        return min(super().trigger, _share(self.max_tokens, self.max_stm_token_ratio))

    @property
    def parts(self) -> tuple[BlockType, ...]:
        """The blocks that must have stored a turn before it leaves the window."""
        return tuple(block.type for block in self.blocks if block.type in STORING)


class NoWindow(_Strategy):
    """Short-term memory is off. Messages are stored, but a context has only the system message and
    the newest turn.
    """

    strategy: Literal["none"]

    @property
    def keeps_window(self) -> bool:
        return False


def _share(tokens: int, ratio: float) -> int:
    # rounded, as 0.55 * 100 gives a little more than 55
    return max(1, ceil(round(ratio * tokens, 6)))


Strategy = Summarize | Trim | Delete | Flush | NoWindow
MemoryConfig = Annotated[Strategy, Field(discriminator="strategy")]
_ADAPTER: TypeAdapter[Strategy] = TypeAdapter(MemoryConfig)


def parsed(config: dict[str, Any]) -> Strategy:
    """Return the configuration that the fields describe; `strategy` defaults to summarize. Raises
    pydantic's `ValidationError`.
    """
    return _ADAPTER.validate_python({"strategy": "summarize", **config})


def merged(base: dict[str, Any], patch: dict[str, Any]) -> Strategy:
    """Return the configuration `base` with the fields of `patch` in place of its own.

    If the strategy changes, the fields of the old strategy are dropped. If the model or the reserve
    changes, a budget that was derived from a model's window is derived again. A `keep_recent_turns`
    in the patch replaces a `summary_message_count` in the base.
    """
    if patch.get("strategy", base.get("strategy", "summarize")) != base.get(
        "strategy", "summarize"
    ):
        base = {name: base[name] for name in _Strategy.model_fields if name in base}
    if patch.keys() & {MEMORY_AS, INSERTS}:
        base = {name: value for name, value in base.items() if name not in (MEMORY_AS, INSERTS)}
    if KEEP_TURNS in patch:
        base = {name: value for name, value in base.items() if name != KEEP_MESSAGES}
    asks_model = "model" in patch or ("reserve_tokens" in patch and _is_derived(base))
    if asks_model and "max_tokens" not in patch:
        base = {name: value for name, value in base.items() if name != "max_tokens"}
    return parsed({**base, **patch})


def _is_derived(config: dict[str, Any]) -> bool:
    """Return whether the budget was derived from the model's window."""
    window = window_of(config["model"]) if config.get("model") else None
    reserve = config.get("reserve_tokens", DEFAULT_RESERVE)
    return window is not None and config.get("max_tokens") == window - reserve


def stored(config: Strategy) -> dict[str, Any]:
    """Return the fields of a configuration to store: the given fields, the strategy and the budget,
    without other defaults. The retention of the session itself is left out, because it is stored
    separately.
    """
    fields = config.model_dump(mode="json", exclude_unset=True)
    if RETENTION in fields:
        fields[RETENTION] = {
            kind: kept for kind, kept in fields[RETENTION].items() if kind != CONVERSATIONS
        }
    return {"strategy": config.strategy, "max_tokens": config.max_tokens, **fields}


def own_retention(memory: Mapping[str, Any]) -> dict[str, int]:
    """Return how many days a session with this stored configuration keeps the memories extracted
    from it, by type; 0 = for ever. The tenant's retention applies to a missing type.
    """
    return {kind: days or 0 for kind, days in parsed(dict(memory)).retention.by_type.items()}


def names_days(memory: Mapping[str, Any] | None) -> bool:
    """Return whether these fields set how long the session itself is kept."""
    retention = (memory or {}).get(RETENTION)
    return isinstance(retention, Mapping) and retention.get(CONVERSATIONS) is not None
