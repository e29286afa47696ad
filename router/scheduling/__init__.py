"""The waiting queue, its order, and the choice of job and worker."""
