"""Models on any server that speaks the OpenAI API."""
