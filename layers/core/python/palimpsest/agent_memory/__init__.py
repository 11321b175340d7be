"""The library for Python programs."""

from palimpsest.agent_memory.agent_memory import AgentMemory

__all__ = ["AgentMemory"]
