"""The HTTP gateway: the API in the shapes of OpenAI and llama.cpp; one more client of the router."""
