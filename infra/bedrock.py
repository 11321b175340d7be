"""The choices of a deployer about Amazon Bedrock, and the resources that a role needs for them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

RERANKERS = {"amazon": "amazon.rerank-v1:0", "cohere": "cohere.rerank-v3-5:0"}
"""The rerankers of Bedrock by the value of `rerank` in the context."""
BEDROCK_CHAT_MODEL = "openai.gpt-oss-20b-1:0"
BEDROCK_MODEL = re.compile(
    r"arn:aws[a-z-]*:bedrock:\S+|(?:[a-z]+(?:-[a-z]+)*\.)?(?:[a-z]+|ai21)\.[\w.:-]+"
)
"""The names of models of Bedrock. A name is an ARN, or a provider and a model, perhaps after the
regions of an inference profile (`us.`, `global.`).
"""


@dataclass(frozen=True, slots=True)
class Bedrock:
    """The uses of Amazon Bedrock, besides embedding. An empty `region` is that of the stack.
    `profile` names credentials of this machine, and `url` an address in place of Bedrock's own.
    """

    chats: bool = False  # the language models are Bedrock's
    reranker: str = ""  # the name of a model; empty: none of Bedrock
    region: str = ""
    profile: str = ""
    url: str = ""

    @property
    def models_from(self) -> str:
        """The value of the functions' setting MODELS_FROM: who serves the language models."""
        return "bedrock" if self.chats else "openai"


def bedrock_of(context: Callable[[str], Any]) -> Bedrock:
    """Return the uses of Amazon Bedrock that the CDK context chooses."""
    if (context("models_from") or "openai") not in ("openai", "bedrock"):
        raise SystemExit("The context `models_from` is `openai` or `bedrock`.")
    reranker = context("rerank") or ""
    if reranker and reranker not in RERANKERS:
        raise SystemExit(f"The context `rerank` is one of {', '.join(RERANKERS)}.")
    if context("bedrock_profile") and context("stage") != "local":
        raise SystemExit(
            "The context `bedrock_profile` is only for the stage `local`: functions in AWS have "
            "their roles."
        )
    return Bedrock(
        chats=context("models_from") == "bedrock",
        reranker=RERANKERS.get(reranker, ""),
        **{name: context(f"bedrock_{name}") or "" for name in ("region", "profile", "url")},
    )


def of_bedrock(choices: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """Return the choices with a chat model of Bedrock. Refuse model names that only another server
    knows, and the address of another server.
    """
    if choices.get("openai_base_url"):
        raise SystemExit("The context `openai_base_url` has no meaning with `models_from=bedrock`.")
    model = choices.get("chat_model") or BEDROCK_CHAT_MODEL
    for name in (model, *models):
        if not BEDROCK_MODEL.fullmatch(name):
            raise SystemExit(
                f"Bedrock has no model {name!r}; its names are like {BEDROCK_CHAT_MODEL!r}."
            )
    return {**choices, "chat_model": model}


PROFILE_OF = re.compile(r"[a-z]+(?:-[a-z]+)*\.((?:[a-z]+|ai21)\.[\w.:-]+)")
"""The name of an inference profile, which contains the name of its model."""


def arns(models: Iterable[str], *, region: str, partition: str, account: str) -> Iterator[str]:
    """Yield the resources that a caller of those models needs. An inference profile calls its model
    in any of its regions.
    """
    for model in models:
        profile = PROFILE_OF.fullmatch(model)
        if model.startswith("arn:"):
            yield model
        elif profile:
            yield f"arn:{partition}:bedrock:{region}:{account}:inference-profile/{model}"
            yield f"arn:{partition}:bedrock:*::foundation-model/{profile[1]}"
        else:
            yield f"arn:{partition}:bedrock:{region}::foundation-model/{model}"
