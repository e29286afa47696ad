"""Answers that stayed, compared with the cloud's: the evidence of a drift, and the answers for people to judge."""
