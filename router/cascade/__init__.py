"""Policy of handing a job to a larger model: confidence gates and the share of jobs that may go."""
