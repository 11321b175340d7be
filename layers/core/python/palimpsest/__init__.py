"""Agent memory as a service: contexts that always fit, over conversations that are never lost."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palimpsest_local.agent_memory import AgentMemory

    from palimpsest.context.blocks.extractive import ExtractiveMemory
    from palimpsest.context.blocks.static import StaticMemory
    from palimpsest.context.blocks.vectors import VectorMemory
    from palimpsest.extraction.outside import ChatHistoryProvider
    from palimpsest.recall.as_text import format_as_context

__all__ = [
    "AgentMemory",
    "ChatHistoryProvider",
    "ExtractiveMemory",
    "StaticMemory",
    "VectorMemory",
    "format_as_context",
]
_HOMES = {
    "AgentMemory": "palimpsest_local.agent_memory",
    "ChatHistoryProvider": "palimpsest.extraction.outside",
    "ExtractiveMemory": "palimpsest.context.blocks.extractive",
    "StaticMemory": "palimpsest.context.blocks.static",
    "VectorMemory": "palimpsest.context.blocks.vectors",
    "format_as_context": "palimpsest.recall.as_text",
}


def __getattr__(name: str) -> Any:
    """Return a public name of the library. Its module is imported at the first use of the name,
    because the functions use none of these names.
    """
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(import_module(_HOMES[name]), name)
