"""The HTTP gateway: the APIs of OpenAI and llama.cpp, as a client of the router."""
