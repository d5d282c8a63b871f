"""From the configuration to the rounds that are to be measured. Reads records, never runs or times anything."""
