"""The process that holds the clients' sockets, and the router's link to it."""
