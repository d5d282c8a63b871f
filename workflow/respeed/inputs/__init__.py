"""Reads and checks what people write: config.yaml, hardware profiles, papers. Only this layer reads YAML."""
