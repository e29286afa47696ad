"""The HTTP gateway: the APIs of OpenAI, Anthropic, Ollama and llama.cpp, as a client of the router."""
