"""Tool calls: selecting tools, prompting, forcing calls by grammar, and parsing them from text."""
