"""Context sizes of the usual models, by name."""

from __future__ import annotations

from palimpsest.errors import FieldError, Unprocessable

# Published context windows in tokens (input and output together), from the providers' model pages, 2026.
# The longest prefix of a model's name decides; a provider's prefix ("openai/", "us.anthropic.") is ignored.
WINDOWS = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-oss": 131_072,
    "chatgpt-4o": 128_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude": 200_000,
    "claude-2.0": 100_000,
    "claude-instant": 100_000,
    "gemini-1.5-pro": 2_097_152,
    "gemini-1.5-flash": 1_048_576,
    "gemini-2": 1_048_576,
    "gemini-3": 1_048_576,
    "llama-2": 4_096,
    "llama-3": 8_192,
    "llama-3.1": 131_072,
    "llama-3.2": 131_072,
    "llama-3.3": 131_072,
    "llama3": 8_192,
    "llama3.1": 131_072,
    "llama3.2": 131_072,
    "llama3.3": 131_072,
    "mistral-7b": 32_768,
    "mistral-large": 131_072,
    "mistral-small": 131_072,
    "mixtral-8x7b": 32_768,
    "mixtral-8x22b": 65_536,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
    "deepseek-chat": 131_072,
    "deepseek-reasoner": 131_072,
    "deepseek-r1": 131_072,
    "deepseek-v3": 131_072,
    "command-r": 128_000,
    "nova-micro": 128_000,
    "nova-lite": 300_000,
    "nova-pro": 300_000,
    "grok-3": 131_072,
    "grok-4": 256_000,
}


def window_of(model: str) -> int | None:
    """The model's context window in tokens; None if the name is not known."""
    name = model.lower().rsplit("/", 1)[-1]
    candidates = [name] + [name.split(".", cut)[-1] for cut in range(1, name.count(".") + 1)]
    for candidate in candidates:
        found = max((prefix for prefix in WINDOWS if candidate.startswith(prefix)), key=len, default=None)
        if found:
            return WINDOWS[found]
    return None


def budget_of(model: str | None, *, reserve: int) -> int | None:
    """The model's window less `reserve` tokens for its answer; None for None. Raises `Unprocessable`
    (`unknown_model`).
    """
    if model is None:
        return None
    window = window_of(model)
    if window is None:
        error = FieldError("model", "not known: give max_tokens")
        raise Unprocessable("The context size of this model is not known.", code="unknown_model", errors=(error,))
    return max(1, window - reserve)
