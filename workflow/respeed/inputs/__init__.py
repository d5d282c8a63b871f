"""Read and check the files that people write: config.yaml, hardware profiles, papers. Only this layer reads YAML."""
