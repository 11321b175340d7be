"""The bodies and answers of the operations on contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, get_args

from pydantic import Field
from typing_extensions import TypedDict

from palimpsest.api.answers import HasEnded, IsMaterial, Provenance, RestsOnChanged, Speaker
from palimpsest.api.fields import Closed, Json, MaxTokens, Moment
from palimpsest.api.resources.chat import Given
from palimpsest.api.resources.jobs import SequenceRange
from palimpsest.context.cache import LONGEST_MARK
from palimpsest.context.cache import Part as CachePart
from palimpsest.context.formats import ContextFormat
from palimpsest.conversations.overflow.arm import WhyNot
from palimpsest.conversations.session import CompactionState
from palimpsest.memory.filters import MemoryType

Model = Annotated[
    str,
    Field(
        min_length=1,
        max_length=128,
        description="The model that will read it: its window is the budget",
    ),
]

WHOSE = (
    "The API that `messages` and `tools` are written for: OpenAI's chat (openai) or Responses "
    "(responses), Anthropic's"
    " Messages (anthropic), Amazon Bedrock's Converse (converse; bytes are base64)"
)


AFTER = "The `cache.mark` of an earlier context: say what this one has in common with it"

POINTS = (
    "Whether Anthropic's and Converse's messages have cache points. With Converse there are none "
    "for a `model` that is known to refuse them"
)

After = Annotated[str, Field(max_length=LONGEST_MARK)]


class ContextOptions(Closed):
    max_tokens: MaxTokens | None = None
    model: Model | None = None
    compact: Annotated[
        Literal["sync"] | None,
        Field(description="sync: first compact the messages over the budget; waits up to 20 s"),
    ] = None
    explain: Annotated[
        bool, Field(description="Add why each part is there, and the parts that were left out")
    ] = False
    at: Annotated[
        int | None, Field(ge=1, description="Return only the window, as it was after this message")
    ] = None
    format: Annotated[ContextFormat, Field(description=WHOSE)] = "openai"
    after: Annotated[After | None, Field(description=AFTER)] = None
    cache_points: Annotated[bool, Field(description=POINTS)] = True


class ContextRequest(ContextOptions):
    message: Annotated[
        Given | None,
        Field(
            description="The user's message about to be sent, as a text or a message. Its tokens "
            "are counted, but it is not stored"
        ),
    ] = None


WhyNoRoom = Annotated[
    WhyNot | None, Field(description="Why no room was made; null if room was made or is being made")
]


class ContextTokens(TypedDict):
    """Numbers of tokens. `context` counts the messages of this answer. `window` counts all messages
    of the window, and `summary` the summary before them.

    `memory` counts the memory prompt. It is a part of `context`, except if `memory_as` is `none`;
    the memory prompt is then sent in addition to the messages. `tools` counts the definitions of
    tools. `total` is the sum of everything, and at most the budget.
    """

    context: int
    budget: int
    window: int
    summary: int
    memory: int
    tools: int
    total: int
    parts: TokenParts


class TokenParts(TypedDict):
    """The tokens of each part. Their sum is `total`. `framing` counts the tokens that open the
    model's reply.
    """

    system: int
    memory: int
    summary: int
    messages: int
    framing: int
    tools: int


class CacheInfo(TypedDict):
    """How much of this context a prompt cache can serve. `mark` identifies this context; send it as
    `after` with the next call. The other fields compare this context with the context whose mark
    was sent as `after`. They are null without `after`.

    `common_tokens` counts the messages with which both contexts begin. `broke_at` is the index of
    the first message that differs, in the form of OpenAI's chat (null: none differs). `why` names
    the part of the context that this message belongs to.
    """

    mark: str
    common_tokens: int | None
    broke_at: int | None
    why: CachePart | None


class MessageRef(TypedDict):
    """The stored message that a message of a context shows."""

    seq: int
    id: str


class ShownFact(TypedDict):
    id: str
    content: str
    agent_id: str | None


class ShownMemory(TypedDict):
    id: str
    type: Annotated[str, Field(json_schema_extra={"enum": [*get_args(MemoryType)]})]
    content: str
    speaker: Speaker
    score: float | None
    valid_from: Moment | None
    valid_to: Annotated[Moment | None, Field(description="When it ended")]
    ended: HasEnded
    when: Annotated[
        str | None, Field(description="Its time in words, such as `planned for 2026-10-01`")
    ]
    rests_on_changed: RestsOnChanged
    material: IsMaterial
    source: Provenance
    agent_id: str | None


class ShownMessage(ShownMemory):
    role: str | None


class Context(TypedDict):
    messages: Annotated[
        Sequence[Mapping[str, Any]], Field(description="Ready to send, in the form of `format`")
    ]
    system: NotRequired[
        Annotated[
            str | Sequence[Json],
            Field(
                description="The system text, which Anthropic and Converse take beside the messages"
            ),
        ]
    ]
    refs: Annotated[
        Sequence[MessageRef | None],
        Field(
            description="For each of `messages`, the stored message that it shows (the first "
            "one if it joins several); null if it was made for this context"
        ),
    ]
    tokens: ContextTokens
    omitted: Annotated[
        SequenceRange | None,
        Field(description="Stored messages that neither this context nor its summary covers"),
    ]
    compaction: CompactionState
    why_not: NotRequired[
        Annotated[WhyNoRoom, Field(description="With `compact`: why nothing was compacted")]
    ]
    degraded: Annotated[
        Sequence[str], Field(description="Blocks that could not be read and are missing here")
    ]
    static_facts: Annotated[list[ShownFact], Field(description="Facts that the tenant states")]
    extracted_facts: Annotated[
        list[ShownMemory],
        Field(description="Facts that were extracted from the user's conversations"),
    ]
    vector_matches: Annotated[
        list[ShownMessage], Field(description="Past messages that are similar to the given one")
    ]
    memory_prompt: Annotated[
        str,
        Field(
            description="The text of all three, escaped, as the model gets it; empty if there is "
            "none"
        ),
    ]
    tools: NotRequired[
        Annotated[
            Sequence[Mapping[str, Any]],
            Field(description="With `auto_recall`: the tools for the model"),
        ]
    ]
    cache: Annotated[CacheInfo, Field(description="The part that a prompt cache can serve")]
    prompt_cache_key: NotRequired[
        Annotated[
            str,
            Field(
                description="With openai and responses: the value of their parameter of this name"
            ),
        ]
    ]
    trace: NotRequired[Annotated[Json, Field(description="With `explain`: why each part is there")]]
