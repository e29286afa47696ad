"""Files that clients keep here, and batches over them."""
