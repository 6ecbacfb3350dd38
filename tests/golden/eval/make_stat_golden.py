#!/usr/bin/env python3
"""Writes stat.json, the expected values of tests/eval/stat.

Needs numpy, scipy and statsmodels. The paired score interval is computed here by another route than
in the product: the nuisance parameter by numerical maximization of the multinomial likelihood, the
limits by Brent's method.  Run: python3 tests/golden/eval/make_stat_golden.py
"""
import json
import math
import pathlib

import numpy as np
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint


def constrained_loss(lost, gained, n, d):
    """argmax over q of the likelihood with P(lost) = q, P(gained) = q + d."""
    low, high = max(0.0, -d), (1 - d) / 2

    def negative(q):
        concordant = n - lost - gained
        terms = [(lost, q), (gained, q + d), (concordant, 1 - 2 * q - d)]
        return -sum(k * math.log(max(p, 1e-300)) for k, p in terms if k)

    best = optimize.minimize_scalar(negative, bounds=(low, high), method="bounded",
                                    options={"xatol": 1e-14, "maxiter": 5000})
    return min([low, high, best.x], key=negative)


def score(lost, gained, n, d):
    q = constrained_loss(lost, gained, n, d)
    variance = n * (2 * q + d - d * d)
    distance = gained - lost - n * d
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(1e9, distance)
    return distance / math.sqrt(variance)


def tango(lost, gained, n, level):
    z = stats.norm.ppf(0.5 + level / 2)
    estimate = (gained - lost) / n
    low = -1.0 if lost == n else optimize.brentq(
        lambda d: score(lost, gained, n, d) - z, -1 + 1e-12, estimate - 1e-12, xtol=1e-13)
    high = 1.0 if gained == n else optimize.brentq(
        lambda d: score(lost, gained, n, d) + z, estimate + 1e-12, 1 - 1e-12, xtol=1e-13)
    return low, high


def main():
    out = {}
    tables = [(1, 1, 7, 12), (36, 12, 2, 0), (100, 40, 20, 0), (240, 6, 0, 54), (240, 0, 6, 54),
              (246, 0, 0, 54), (220, 26, 14, 40), (0, 5, 0, 0), (90, 3, 5, 202), (1000, 53, 52, 214)]
    out["paired"] = []
    for both, lost, gained, neither in tables:
        n = both + lost + gained + neither
        exact = mcnemar([[both, lost], [gained, neither]], exact=True).pvalue if lost + gained else 1.0
        flips, fewer = lost + gained, min(lost, gained)
        mid = 1.0
        if flips:
            mid = 2 * stats.binom.cdf(fewer - 1, flips, 0.5) + stats.binom.pmf(fewer, flips, 0.5)
            if lost == gained:
                mid = 1 - stats.binom.pmf(fewer, flips, 0.5) / 2
        l95, h95 = tango(lost, gained, n, 0.95)
        l90, h90 = tango(lost, gained, n, 0.90)
        out["paired"].append(dict(table=[both, lost, gained, neither], exact=float(exact),
                                  mid_p=float(mid), interval95=[l95, h95], interval90=[l90, h90]))
    out["proportion"] = []
    for k, n in [(0, 10), (10, 10), (246, 300), (20, 49), (1, 400), (1, 1)]:
        w = proportion_confint(k, n, 0.05, "wilson")
        b = proportion_confint(k, n, 0.05, "beta")
        out["proportion"].append(dict(k=k, n=n, wilson=[float(v) for v in w],
                                      clopper_pearson=[float(v) for v in b]))
    out["normal"] = [dict(p=p, z=float(stats.norm.ppf(p))) for p in (0.001, 0.05, 0.5, 0.8, 0.95, 0.975)]
    p = [0.01, 0.04, 0.03, 0.005, 0.5]
    out["holm"] = dict(p=p, adjusted=[float(v) for v in multipletests(p, method="holm")[1]])
    values = [0.5, 0.1, 3.0, 2.25, 0.75, 9.5, 4.0]
    out["quantile"] = dict(values=values,
                           expected=[[q, float(np.quantile(values, q))] for q in (0, 0.1, 0.5, 0.9, 0.99, 1)])
    rng = np.random.default_rng(7)
    sums = rng.gamma(2.0, 3.0, 200)
    weights = rng.integers(5, 60, 200).astype(float)
    reps = []
    for _ in range(20000):
        pick = rng.integers(0, 200, 200)
        reps.append(sums[pick].sum() / weights[pick].sum())
    out["bootstrap"] = dict(sums=[round(float(v), 9) for v in sums], weights=list(weights),
                            mean=float(sums.sum() / weights.sum()),
                            interval=[float(v) for v in np.quantile(reps, [0.025, 0.975])])
    folder = pathlib.Path(__file__).parent
    (folder / "stat.json").write_text(json.dumps(out, indent=1) + "\n")


main()
