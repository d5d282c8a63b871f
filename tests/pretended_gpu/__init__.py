"""A pretended GPU: torch's own CUDA code runs on it whole. See runtime/pretended.h and numbers.py."""
