"""Models and LoRA adapters: reads their files, and packs weights once for all workers."""
