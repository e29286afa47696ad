"""HTTP: connections, bodies, keys, origins, TLS, event ids, error responses."""
