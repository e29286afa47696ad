"""The page for people: chat, service, batches and calibrations in a browser."""
