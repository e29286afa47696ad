"""Everything the router knows, as plain records and tables; nothing here sends or decides."""
