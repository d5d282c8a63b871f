"""Make tidy tables from records: pandas DataFrames, whose columns are declared in `columns`."""
