"""Contents of requests and responses: options with their rules and defaults, and OpenAI's formats."""
