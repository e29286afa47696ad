"""A service under more work than it can do."""
