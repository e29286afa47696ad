"""Files that clients upload, and batches over them."""
