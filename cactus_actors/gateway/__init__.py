"""The HTTP gateway: the APIs of OpenAI, Anthropic and llama.cpp, as a client of the router."""
