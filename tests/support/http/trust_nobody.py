"""The TLS of clients that only call http:// addresses."""

from __future__ import annotations

import ssl

TRUST_NOBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""It accepts no certificate. Without it, each client of httpx reads those of all authorities, which takes 40 ms."""
