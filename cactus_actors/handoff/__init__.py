"""The handoff actor: a worker of the router whose model is an OpenAI-compatible cloud service."""
