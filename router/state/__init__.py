"""The router's state as plain records and tables; nothing here sends or decides."""
