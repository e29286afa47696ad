"""Finding models on disk and on the hub, checked reading of their files; the models that ship with the package."""
