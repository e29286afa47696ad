"""The description of the HTTP interface."""
