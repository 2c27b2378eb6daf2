#!/usr/bin/env python3
"""Compares what poas does on a simulated node with its own plan and with the best split by hand.

  check.py --program node_gemm --library libpoas.so calibrate MACHINE MODELS.json
  check.py --program node_gemm models MACHINE MODELS.json
  check.py --program node_gemm --library libpoas.so agree MACHINE N [--models MODELS.json]
  check.py --program node_gemm repeat
  check.py --program node_gemm --library libpoas.so drift MACHINE N UNIT MODELS.json
  check.py --program node_gemm --library libpoas.so planning MACHINE N MODELS.json

calibrate  learns the node inside the simulation, as on a real one, and keeps the models for the others.
models     no model and no link may be further off than the truth's own spread explains.
agree      the simulated makespan lies within 8 % of the plan's prediction and within 5 % of the best of
           the stored sweep, and the node's further promise holds, if it has one.  Beyond three units,
           where a sweep finds little, the plan under the true times, StarPU's own costs included, is a
           second thing to come near to; the solver's bound is printed beside it: it leaves out latencies
           and operands that every unit needs, so no schedule reaches it.  Without --models it
           calibrates in the same process, and the first run after that counts.
drift      a unit that becomes three times slower in mid-run is planned for within 30 tasks, and its old
           speed within 60.
planning   real time of planning on this machine: cold within 5 ms, from the cache within 50 us (a benchmark
           for an idle machine, no test of ctest).
repeat     30 points of the stored sweeps, run again, give the same makespans up to rounding.
"""
import argparse
import csv
import json
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
SAME = 1e-9  # compilers and processors round differently
COLD_PLAN, CACHED_PLAN = 5e-3, 50e-6
LINK_ERROR, HOST_LINK_ERROR = 0.02, 0.1
MODEL_ERROR = 0.05  # the truth spreads by 3 %, the mean over samples by less


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
    """The time to come near to."""
    best = min(row["makespan"] for row in rows)
    if len(node.devices) <= 2:
        return best
    plan = node.run("--n", n, "--plan")
    print(f"under the true times: plan {plan['makespan'] * 1e3:.2f} ms, bound {plan['bound'] * 1e3:.2f} ms")
    return min(best, plan["makespan"])


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


def compare_links(report, node, machine):
    """Bandwidths against the truth; a common limit that never binds counts as none."""
    for device, learned in zip(node.devices, machine["devices"]):
        for direction in ("h2d_bytes_per_s", "d2h_bytes_per_s"):
            ratio = learned[direction] / device[direction]
            report.line(f"{device['name']} {direction} over the truth", ratio, f"1 +- {LINK_ERROR}",
                        abs(ratio - 1) <= LINK_ERROR)
    total = sum(device["h2d_bytes_per_s"] + device["d2h_bytes_per_s"] for device in node.devices)
    learned = machine["host_link_bytes_per_s"] or total
    ratio = learned / min(total, node.truth["host_link_bytes_per_s"])
    report.line("common limit of all links over the truth", ratio, f"1 +- {HOST_LINK_ERROR}",
                abs(ratio - 1) <= HOST_LINK_ERROR)


def calibrate(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch, args.library)
    args.models.parent.mkdir(parents=True, exist_ok=True)
    args.models.unlink(missing_ok=True)
    result = node.run("--n", 2048, "--poas", "--models", args.models, timeout=900)
    print(f"{args.machine}: calibrated in {result['calibration']:.1f} s of simulated time")
    return 0


def models(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch)
    learned = json.loads(args.models.read_text())
    report = Report()
    for model in learned["models"]:
        report.line(f"error of {model['unit']} {model['implementation']}, {model['samples']} samples",
                    model["relative_error"], f"at most {MODEL_ERROR}", model["relative_error"] <= MODEL_ERROR)
    compare_links(report, node, learned["machine"])
    units, known = 1 + len(node.devices), len(learned["models"])
    report.line("models", known, f"{units}", known == units)
    return 1 if report.bad else 0


def agree(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch, args.library)
    rows = stored(args.machine, args.n)
    how = [*nodes.WARM, "--models", args.models] if args.models else []
    result = node.run("--n", args.n, "--poas", *how, timeout=900)
    makespan, predicted = result["makespan"], result["predicted"]
    best, single = reference(node, args.n, rows), best_single(rows)
    print(f"{args.machine} n={args.n}: poas {makespan * 1e3:.2f} ms, predicted {predicted * 1e3:.2f}, "
          f"to come near to {best * 1e3:.2f}, best single unit {single * 1e3:.2f}\n"
          f"  {result['plan']['reason']}")
    print_units(result["plan"])
    report = Report()
    report.line("makespan over prediction", makespan / predicted, f"1 +- {FROM_PREDICTION}",
                abs(makespan - predicted) <= FROM_PREDICTION * predicted)
    report.line("makespan over the best known", makespan / best, f"at most {1 + FROM_BEST}",
                makespan <= (1 + FROM_BEST) * best)
    gain = LEAST_GAIN.get((args.machine, args.n))
    if gain:
        report.line("gain over the best single unit", single / makespan, f"at least {gain}",
                    single >= gain * makespan)
    return 1 if report.bad else 0


def drift(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch, args.library)
    times = node.run("--n", args.n, "--drift", args.unit, "--models", args.models, timeout=900)
    print(f"{args.machine} n={args.n}, {args.unit} three times slower: " +
          ", ".join(f"{what} {seconds * 1e3:.2f} ms" for what, seconds in times.items()))
    report = Report()
    slowed = times["slowed"] / times["slowed, by a plan that knows"]
    back = times["back"] / times["before"]
    report.line("after 30 tasks, over a plan that knows", slowed, f"at most {1 + FROM_PREDICTION}",
                slowed <= 1 + FROM_PREDICTION)
    report.line("60 tasks after the end, over before", back, f"at most {1 + FROM_BEST}", back <= 1 + FROM_BEST)
    return 1 if report.bad else 0


def planning(args, scratch):
    node = nodes.Node(args.machine, args.program, scratch, args.library)
    times = node.run("--n", args.n, "--planning", "--models", args.models, timeout=900)
    report = Report()
    for what, limit in (("cold", COLD_PLAN), ("cached", CACHED_PLAN)):
        report.line(f"{args.machine} n={args.n}: {what} plan, ms", times[what] * 1e3, f"at most {limit * 1e3}",
                    times[what] <= limit)
    return 1 if report.bad else 0


def repeat(args, scratch):
    rows = [row for file in sorted(nodes.SWEEPS.glob("*.tsv")) for row in stored(*file.stem.rsplit("-", 1))]
    chosen = rows[::max(1, len(rows) // REPEATED)][:REPEATED]
    made, different = {}, 0
    for row in chosen:
        name = row["machine"]
        node = made.setdefault(name, nodes.Node(name, args.program, scratch))
        again = node.makespan("--n", row["n"], *nodes.WARM, "--shares", row["shares"],
                              "--grid", row["panels"])
        if abs(again - row["makespan"]) > SAME * row["makespan"]:
            different += 1
            print(f"FAIL {name} n={row['n']} {row['shares']} {row['panels']}: {again!r}, "
                  f"stored {row['makespan']!r}")
    print(f"{len(chosen)} of {len(rows)} stored runs repeated, {different} different")
    return 1 if different or len(chosen) < REPEATED else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True, help="node_gemm")
    parser.add_argument("--library", type=pathlib.Path, help="libpoas.so of the SimGrid flavour")
    commands = parser.add_subparsers(required=True)
    def on_machine(name, function):
        command = commands.add_parser(name)
        command.add_argument("machine", choices=nodes.truth_names())
        command.set_defaults(function=function)
        return command

    for name, function in (("calibrate", calibrate), ("models", models)):
        on_machine(name, function).add_argument("models", type=pathlib.Path)
    command = on_machine("agree", agree)
    command.add_argument("n", type=int)
    command.add_argument("--models", type=pathlib.Path)
    for name, function in (("drift", drift), ("planning", planning)):
        command = on_machine(name, function)
        command.add_argument("n", type=int)
        if function is drift:
            command.add_argument("unit")
        command.add_argument("models", type=pathlib.Path)
    commands.add_parser("repeat").set_defaults(function=repeat)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        return args.function(args, scratch)


if __name__ == "__main__":
    sys.exit(main())
