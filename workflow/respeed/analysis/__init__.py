"""Make tidy tables from records: rows of the classes that `tables` declares, and pandas DataFrames of these rows."""
