"""Where models live on disk, and guarded reading of their files; the models that ship with the package."""
