"""The process that holds the sockets of clients, and the router's side of it."""
