"""Data that workloads compute on: real images that need no download."""
