"""What escalating answers gains, and whether the bounds of its thresholds hold."""
