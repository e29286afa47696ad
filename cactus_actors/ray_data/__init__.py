"""`cactus batch --ray`: a table in parts, answered on a Ray cluster by a pipeline of Ray Data."""
