#!/usr/bin/env python3
"""Prints a table of poas beside StarPU's own policies, single units and splits by hand.

  compare.py --program node_gemm --library libpoas.so --models DIR [--n N ...]

Stock policies get equal blocks; the best of several grids counts, and poas has to find its own.
DIR holds MACHINE.json with models, or receives them.
"""
import argparse
import pathlib
import sys
import tempfile

import check
import node as nodes

GRIDS = ["1x8", "1x16", "4x4", "8x8", "16x16"]
POLICIES = ["dmda", "dmdas", "dmdar"]


def best_of_policy(node, n, policy):
    times = {grid: node.makespan("--n", n, *nodes.WARM, "--policy", policy, "--grid", grid, timeout=600)
             for grid in GRIDS}
    grid = min(times, key=times.get)
    return f"{times[grid] * 1e3:.1f} ({grid})"


def row(args, name, n, scratch):
    stock = nodes.Node(name, args.program, scratch)
    ours = nodes.Node(name, args.program, scratch, args.library)
    result = ours.run("--n", n, *nodes.WARM, "--poas", "--models", args.models / f"{name}.json", timeout=900)
    stored = check.stored(name, n)
    cells = [name, str(n), *(best_of_policy(stock, n, policy) for policy in POLICIES),
             f"{check.best_single(stored) * 1e3:.1f}", f"{min(r['makespan'] for r in stored) * 1e3:.1f}",
             f"{result['makespan'] * 1e3:.1f}", f"{result['predicted'] * 1e3:.1f}"]
    return "| " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="node_gemm")
    parser.add_argument("--library", type=pathlib.Path, required=True, help="libpoas.so of the SimGrid flavour")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--n", type=int, nargs="+", default=[8192, 16384])
    args = parser.parse_args()
    heads = ["node", "n", *POLICIES, "best single unit", "best by hand", "poas", "its prediction"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    with tempfile.TemporaryDirectory() as scratch:
        for name in nodes.truth_names():
            for n in args.n:
                print(row(args, name, n, scratch), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
