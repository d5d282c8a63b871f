"""Places in a ranking, where what cannot be told apart shares one."""

import numpy as np
from scipy.special import stdtrit

from respeed.estimators.speedup import confidence_among


def place_machines(machines: list[list[np.ndarray]]) -> list[int]:
    """The place of each machine, given the logarithms of the speeds of its rounds, case by case.

    One machine is proven to be faster than another if Welch's t of their mean speeds says so, with the confidence that
    so many rivals need.
    """
    mean = np.array([np.mean([values.mean() for values in cases]) for cases in machines])
    variance = np.array(
        [sum(values.var(ddof=1) / len(values) for values in cases if len(values) > 1) / len(cases) ** 2
         for cases in machines]
    )  # fmt: skip
    freedom = np.array([max(1, sum(len(values) - 1 for values in cases)) for cases in machines])
    tail = (1 - confidence_among(len(machines))) / 2
    critical = stdtrit(np.minimum.outer(freedom, freedom), 1 - tail)
    ahead = np.subtract.outer(mean, mean) > critical * np.sqrt(np.add.outer(variance, variance))
    return [int(place) for place in 1 + ahead.sum(axis=0)]
