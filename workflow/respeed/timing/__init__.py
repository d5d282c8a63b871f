"""The only layer that reads a clock: warm-up, blocks, and what disturbed them."""
