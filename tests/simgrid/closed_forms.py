#!/usr/bin/env python3
"""Checks simulated nodes against times worked out by hand: blocks, copies, the shared host link.

  closed_forms.py --program build/bin/node_gemm

Without spread.  StarPU charges some 10 to 70 us for each task, copy and allocation: the tolerance.
"""
import argparse
import pathlib
import sys
import tempfile

import node as nodes

ELEMENT = 4
PER_DEVICE = 300e-6  # what StarPU charges for allocations, copies and launches of one block
PER_TASK = 6e-6      # what it charges the submitting thread
failures = 0


def check(what, measured, expected, tolerance):
    global failures
    good = abs(measured - expected) <= tolerance
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {what:62s} {measured * 1e3:10.3f} ms, "
          f"by hand {expected * 1e3:10.3f} ms")


def run_shares(node, m, n, k, shares, grid="1x1"):
    return node.makespan("-m", m, "-c", n, "-k", k, "--spread", 0, "--grid", grid,
                         "--shares", ",".join(map(str, shares)))


def copy_seconds(device, direction, nbytes):
    return device["latency_seconds"] + nbytes / device[direction]


def whole_on_each_device(node):
    """A and B in, one after the other on the same link; one block; C back."""
    m, n, k = 8192, 6144, 4096
    for d, device in enumerate(node.devices):
        expected = (copy_seconds(device, "h2d_bytes_per_s", m * k * ELEMENT)
                    + copy_seconds(device, "h2d_bytes_per_s", k * n * ELEMENT)
                    + node.block_seconds(d + 1, m, n, k)
                    + copy_seconds(device, "d2h_bytes_per_s", m * n * ELEMENT))
        shares = [0] * (1 + len(node.devices))
        shares[d + 1] = 1
        check(f"{node.name}: whole on {device['name']}", run_shares(node, m, n, k, shares), expected,
              PER_DEVICE)


def whole_on_cpu(node):
    """One block for each core, no copy; n makes equal blocks for every number of cores."""
    cores = node.truth["cpu"]["cores"]
    m, n, k = 512, 128 * cores, 4096
    shares = [1] + [0] * len(node.devices)
    pieces = [(rows, cores // rows) for rows in range(1, cores + 1) if cores % rows == 0]
    # Rows are cut at multiples of 16, so the fastest grid need not be one row of blocks.
    expected = min(node.block_seconds(0, -(-m // (r * 16)) * 16, n // c, k) for r, c in pieces
                   if n % c == 0)
    check(f"{node.name}: whole on {cores} cores", run_shares(node, m, n, k, shares), expected, PER_TASK * cores)


def sharing_finish(starts, nbytes, rates, limit):
    """When two copies end that share a link of `limit`: alone, then together, then alone."""
    first, second = (0, 1) if starts[0] <= starts[1] else (1, 0)
    alone = min(rates[first], limit)
    # What one cannot use is left to the other.
    together = {i: min(rates[i], max(limit / 2, limit - rates[1 - i])) if rates[0] + rates[1] > limit else rates[i]
                for i in (0, 1)}
    left = {first: nbytes - (starts[second] - starts[first]) * alone, second: nbytes}
    if left[first] <= 0:
        return starts[second] + nbytes / min(rates[second], limit)
    soonest = min((0, 1), key=lambda i: left[i] / together[i])
    span = left[soonest] / together[soonest]
    other = 1 - soonest
    return starts[second] + span + (left[other] - span * together[other]) / min(rates[other], limit)


def two_devices_share_the_host_link(node):
    """Next to no work, big results: both devices send half of C home, most of it at the same time."""
    if len(node.devices) != 2:
        return
    m = n = 16384
    k, half = 64, n // 2
    limit = node.truth["host_link_bytes_per_s"]
    starts = []
    for d, device in enumerate(node.devices):
        rate = min(device["h2d_bytes_per_s"], limit / 2)
        ready = 2 * device["latency_seconds"] + (m * k + k * half) * ELEMENT / rate
        starts.append(ready + node.block_seconds(d + 1, m, half, k) + device["latency_seconds"])
    rates = [device["d2h_bytes_per_s"] for device in node.devices]
    expected = sharing_finish(starts, m * half * ELEMENT, rates, limit)
    measured = run_shares(node, m, n, k, [0, 50, 50])
    check(f"{node.name}: two devices share the host link", measured, expected, 2 * PER_DEVICE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in nodes.truth_names():
            node = nodes.Node(name, args.program, scratch)
            whole_on_each_device(node)
            whole_on_cpu(node)
            two_devices_share_the_host_link(node)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
