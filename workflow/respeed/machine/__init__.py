"""What a measurement ran on: the machine, its cores and accelerators, and the software."""
