"""Who may connect to the router, how, and whose each message is."""
