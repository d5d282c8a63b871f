"""Option prices by Monte Carlo: random draws, a function of each draw, and means."""

import math

import numpy as np
from numpy.random import Generator
from scipy.special import ndtri

from respeed.workloads import Arrays, Named, Pairs, Row, Workload, workload
from respeed.workloads.arrays import Drawn, Draws, Zeros, double

# Interest and volatility of a share of price 1, over the year until the option ends.
RATE = 0.02
VOLATILITY = 0.2
DRIFT = RATE - VOLATILITY**2 / 2


@workload
class MonteCarlo(Workload):
    """Price European calls on shares that follow a geometric Brownian motion, by a mean over paths.

    ::

        z = normal quantile of u, u uniform in [0, 1)
        payoff = max(exp(r - sigma^2 / 2 + sigma z) - strike, 0)
        price = exp(-r) mean over paths of payoff

    Every step draws anew. The quantile is sqrt(2) erfinv(2 u - 1).

    Parameters
    ----------
    batch : int
        Paths of all calls together; a rate is in paths per second.
    options : int
        Number of calls; each has batch // options paths.

    References
    ----------
    Boyle, Options: a Monte Carlo approach, Journal of Financial Economics 4 (1977).
    """

    batch: int
    options: int

    precisions = ("fp32", "fp64")
    products = False

    def arrays(self, random: Generator) -> Named:
        """Draw strikes from [0.5, 1.5), around today's price of the share."""
        shape = self.options, self.batch // self.options
        return {
            "strikes": Drawn(random, (self.options,), 0.5, 1.5),
            "draws": Draws(*shape),
            "payoffs": Zeros(*shape),
            "prices": Zeros(self.options),
        }

    def torch(self, a: Arrays, row: Row) -> None:
        """Draw u and compute the prices, one operation after another, in place."""
        import torch

        u = row.uniform(a.draws)
        signed = torch.add(-1.0, u, alpha=2.0, out=a.payoffs)
        z = torch.erfinv(signed, out=signed)
        ends = z.mul_(math.sqrt(2.0) * VOLATILITY).add_(DRIFT).exp_()
        payoffs = ends.sub_(a.strikes[:, None]).clamp_(min=0.0)
        torch.mean(payoffs, 1, out=a.prices)
        a.prices.mul_(math.exp(-RATE))

    def check(self, given: Arrays, seen: Arrays) -> Pairs:
        """Compare all prices with float64 prices from the same draws."""
        z = ndtri(double(seen.draws))
        ends = np.exp(DRIFT + VOLATILITY * z)
        payoffs = np.maximum(ends - double(given.strikes)[:, None], 0.0)
        return {"prices": (seen.prices, math.exp(-RATE) * payoffs.mean(1))}

    def flops(self) -> None:
        """Count nothing: how many operations a quantile or an exponential takes depends on the library."""

    def traffic_bytes(self) -> float:
        """Count reads of strikes and writes of prices: draws and payoffs need never be in memory."""
        return 8.0 * self.options
