"""A service under more load than its capacity."""
