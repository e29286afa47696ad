"""Tables of the facts that the model is taught."""
