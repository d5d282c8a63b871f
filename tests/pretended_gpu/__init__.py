"""A pretended GPU: torch's own CUDA code runs on it whole, where there is none. See the headers of runtime/ and numbers.py."""
