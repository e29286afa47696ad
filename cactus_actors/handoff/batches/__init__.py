"""Questions that are asked together, of the cloud's batch endpoint."""
