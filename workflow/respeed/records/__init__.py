"""Records: the JSON file that a round writes, and where it lies. Facts only; every statistic is derived later."""
