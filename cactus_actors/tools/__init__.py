"""Tool calls: what is offered, how models are told, how calls are forced and how text is read for them."""
