"""What a request may say and how it is answered: options, their rules and defaults, and OpenAI's shapes."""
