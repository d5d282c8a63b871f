"""How many times as fast one command is as another: both timed in turns, the ratio with its interval, and a verdict."""
