"""Any server that speaks the OpenAI API: OpenAI, Ollama, vLLM, llama.cpp, gateways."""
