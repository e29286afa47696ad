"""What is counted and written down of the work: distributions, job log, traces."""
