#!/usr/bin/env python3
"""Compares what poas does on a simulated node with its own plan and with the best split by hand.

  check.py --program node_gemm [--library libpoas.so] agree MACHINE N
  check.py --program node_gemm repeat

agree   the simulated makespan lies within 8 % of the plan's prediction, and within 5 % of the best of
        the stored sweep (with more than three units: of the solver's bound under the true times), and
        the node's further promise holds, if it has one.
repeat  30 points of the stored sweeps, run again, give the same makespans to the last digit.
"""
import argparse
import csv
import pathlib
import sys
import tempfile

import node as nodes

FROM_PREDICTION = 0.08
FROM_BEST = 0.05
# At least this many times faster than the best single unit, at these sizes.
LEAST_GAIN = {("cpu-gpu-xpu-fastlinks", 8192): 1.35, ("cpu-gpu-xpu-fastlinks", 16384): 1.35,
              ("cpu-gpu-xpu-pcie3", 8192): 1.0, ("cpu-gpu-xpu-pcie3", 16384): 1.0}
REPEATED = 30


def stored(machine, n):
    file = nodes.SWEEPS / f"{machine}-{n}.tsv"
    with file.open() as stream:
        rows = list(csv.DictReader((line for line in stream if not line.startswith("#")), delimiter="\t"))
    return [{**row, "makespan": float(row["makespan"]), "n": int(row["n"])} for row in rows]


def is_single(row):
    return sum(float(share) > 0 for share in row["shares"].split(",")) == 1


def best_single(rows):
    return min(row["makespan"] for row in rows if is_single(row))


def reference(node, n, rows):
    """The time to come near to, and what it is."""
    if len(node.devices) > 2:
        return node.run("--n", n, "--plan")["bound"], "bound"
    return min(row["makespan"] for row in rows), "sweep"


class Report:
    def __init__(self):
        self.bad = []

    def line(self, what, value, limit, good):
        print(f"  {'ok  ' if good else 'FAIL'} {what:44s} {value:8.3f}   {limit}")
        if not good:
            self.bad.append(what)


def print_units(plan):
    print(f"  {'unit':10s} {'share':>7s} {'blocks':>6s} {'predicted':>10s} {'measured':>10s}")
    for unit in plan["units"]:
        if unit["blocks"]:
            print(f"  {unit['name']:10s} {unit['share'] * 100:6.2f}% {unit['blocks']:6d} "
                  f"{unit['predicted_seconds'] * 1e3:7.2f} ms {unit['measured_seconds'] * 1e3:7.2f} ms")


def agree(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch, args.library)
    rows = stored(args.machine, args.n)
    result = node.run("--n", args.n, "--poas", timeout=300)
    makespan, predicted = result["makespan"], result["predicted"]
    best, kind = reference(node, args.n, rows)
    single = best_single(rows)
    print(f"{args.machine} n={args.n}: poas {makespan * 1e3:.2f} ms, predicted {predicted * 1e3:.2f}, {kind} "
          f"{best * 1e3:.2f}, best single unit {single * 1e3:.2f}, split {result['split']}: {result['plan']['reason']}")
    print_units(result["plan"])
    report = Report()
    report.line("makespan over prediction", makespan / predicted, f"1 +- {FROM_PREDICTION}",
                abs(makespan - predicted) <= FROM_PREDICTION * predicted)
    report.line(f"makespan over {kind}", makespan / best, f"at most {1 + FROM_BEST}",
                makespan <= (1 + FROM_BEST) * best)
    gain = LEAST_GAIN.get((args.machine, args.n))
    if gain:
        report.line("gain over the best single unit", single / makespan, f"at least {gain}",
                    single >= gain * makespan)
    return 1 if report.bad else 0


def repeat(args, scratch):
    rows = [row for file in sorted(nodes.SWEEPS.glob("*.tsv")) for row in stored(*file.stem.rsplit("-", 1))]
    chosen = rows[::max(1, len(rows) // REPEATED)][:REPEATED]
    made, different = {}, 0
    for row in chosen:
        name = row["machine"]
        node = made.setdefault(name, nodes.Node(name, args.program, scratch))
        again = node.makespan("--n", row["n"], "--shares", row["shares"], "--grid", row["panels"])
        if again != row["makespan"]:
            different += 1
            print(f"FAIL {name} n={row['n']} {row['shares']} {row['panels']}: {again!r}, stored {row['makespan']!r}")
    print(f"{len(chosen)} of {len(rows)} stored runs repeated, {different} different")
    return 1 if different or len(chosen) < REPEATED else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="node_gemm")
    parser.add_argument("--library", type=pathlib.Path, help="libpoas.so of the SimGrid flavour")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("agree")
    command.add_argument("machine", choices=nodes.truth_names())
    command.add_argument("n", type=int)
    command.set_defaults(function=agree)
    commands.add_parser("repeat").set_defaults(function=repeat)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return args.function(args, scratch)


if __name__ == "__main__":
    sys.exit(main())
