"""From records to tidy tables: pandas DataFrames, whose columns `columns` declares."""
