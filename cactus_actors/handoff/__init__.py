"""The handoff actor: a worker by protocol whose model is an OpenAI-compatible cloud."""
