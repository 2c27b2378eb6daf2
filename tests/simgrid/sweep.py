#!/usr/bin/env python3
"""Searches the best split by hand of a square fp32 GEMM on a simulated node, and stores all runs.

  sweep.py --program build/bin/node_gemm MACHINE N [...]

Shares go over a grid of 5 %, then of 1 % around the best; device blocks over the grids below.  A share
is left out when its pure compute time, without copies and at full speed, is already over the best.
"""
import argparse
import itertools
import pathlib
import sys
import tempfile

import node as nodes

GRIDS = ["1x1", "1x2", "1x4", "1x8", "2x2", "2x4", "4x2", "4x4", "4x8", "8x8"]
ALIGN = 128


def percents(parts, step):
    """All ways of giving 100 % to `parts` units in multiples of step."""
    if parts == 1:
        return [(100,)]
    result = []
    for cuts in itertools.combinations_with_replacement(range(0, 101, step), parts - 1):
        bounds = (0, *cuts, 100)
        result.append(tuple(b - a for a, b in zip(bounds, bounds[1:])))
    return result


def around(shares, reach):
    """1 % steps around the shares."""
    result = []
    for delta in itertools.product(range(-reach, reach + 1), repeat=len(shares) - 1):
        near = [s + d for s, d in zip(shares[:-1], delta)]
        near.append(100 - sum(near))
        if all(s >= 0 for s in near):
            result.append(tuple(near))
    return result


class Sweep:
    def __init__(self, node, n):
        self.node, self.n, self.seen = node, n, {}

    def columns(self, shares):
        bounds = [0]
        for i in range(len(shares)):
            bounds.append(min(int(sum(shares[:i + 1]) / 100 * self.n / ALIGN + 0.5) * ALIGN, self.n))
        return tuple(b - a for a, b in zip(bounds, bounds[1:]))

    def lower_bound(self, shares):
        return max(2 * c * self.n ** 2 / r for c, r in zip(self.columns(shares), self.node.rates()))

    def best(self, among=lambda run: True):
        return min(filter(among, self.seen.values()), key=lambda run: run[2])

    def run(self, shares, grids):
        grids = tuple(g if c else "1x1" for g, c in zip(grids, self.columns(shares)[1:]))
        key = (self.columns(shares), grids)
        if key not in self.seen:
            makespan = self.node.makespan("--n", self.n, *nodes.WARM, "--shares", ",".join(map(str, shares)),
                                          "--grid", ",".join(grids))
            self.seen[key] = (shares, grids, makespan)

    def promising(self, candidates, grids):
        """Most promising first, until no other can be better than the best."""
        for shares in sorted(candidates, key=self.lower_bound):
            if self.seen and self.lower_bound(shares) >= self.best()[2]:
                break
            self.run(shares, grids)

    def single_units(self):
        """Every device alone; returns the best grid of each."""
        units = 1 + len(self.node.devices)
        best = []
        for unit in range(units):
            shares = tuple(100 if u == unit else 0 for u in range(units))
            for grid in GRIDS if unit else GRIDS[:1]:
                self.run(shares, [grid] * (units - 1))
            best.append(self.best(lambda run, alone=shares: run[0] == alone)[1][unit - 1])
        return best[1:]

    def polish(self, start):
        """Other grids, one device after the other, since the choice of one moves the others."""
        shares, grids, _ = start
        for device in range(len(self.node.devices)):
            for grid in GRIDS:
                self.run(shares, [*grids[:device], grid, *grids[device + 1:]])
            grids = self.best(lambda run: run[0] == shares)[1]
        self.promising(around(shares, 4), grids)

    def search(self):
        units = 1 + len(self.node.devices)
        self.promising([s for s in percents(units, 5) if max(s) < 100], self.single_units())
        together = sorted((run for run in self.seen.values() if max(run[0]) < 100), key=lambda run: run[2])
        for start in together[:3]:
            self.polish(start)
        self.polish(self.best())

    def search_many(self):
        """Too many units for a grid of shares: in proportion to their rates, all grids."""
        self.single_units()
        rates = self.node.rates()
        for cpu in (0, rates[0] / 2, rates[0]):
            total = cpu + sum(rates[1:])
            shares = tuple(round(100 * r / total, 2) for r in (cpu, *rates[1:]))
            for grid in GRIDS:
                self.run(shares, [grid] * len(self.node.devices))

    def store(self, command):
        nodes.SWEEPS.mkdir(exist_ok=True)
        lines = [f"# {command}", "machine\tn\tshares\tpanels\tmakespan"]
        for shares, grids, makespan in sorted(self.seen.values(), key=lambda run: run[2]):
            lines.append("\t".join([self.node.name, str(self.n), ",".join(map(str, shares)), ",".join(grids),
                                    repr(makespan)]))
        file = nodes.SWEEPS / f"{self.node.name}-{self.n}.tsv"
        file.write_text("\n".join(lines) + "\n")
        return file


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="node_gemm")
    parser.add_argument("machine", choices=nodes.truth_names())
    parser.add_argument("n", type=int, nargs="+")
    args = parser.parse_args()
    for n in args.n:
        with tempfile.TemporaryDirectory() as scratch:
            sweep = Sweep(nodes.Node(args.machine, args.program, scratch), n)
            if len(sweep.node.devices) <= 2:
                sweep.search()
            else:
                sweep.search_many()
            file = sweep.store(f"sweep.py --program build/bin/node_gemm {args.machine} {n}")
        print(f"{file}: {len(sweep.seen)} runs, best {sweep.best()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
