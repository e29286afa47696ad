"""A model as data and the compiled step that runs it: graph -> layout and program -> compiled step."""
