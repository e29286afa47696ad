"""The service on Ray: starting, watching, scaling and stopping its actors."""
