#!/usr/bin/env python3
"""Writes the five bus files that StarPU-SimGrid needs to simulate the node of a truth file.

  platform_files.py TRUTH.json DIR [--host NAME]

makes DIR/bus/NAME.{config,bandwidth,latency,affinity,platform.v4.xml}; run a program there with
STARPU_PERF_MODEL_DIR=DIR STARPU_HOSTNAME=NAME.  The XML is the truth of copies (SimGrid runs on it),
bandwidth and latency are what StarPU believes: here the same, each link alone.
"""
import argparse
import json
import pathlib
import sys

MAX_NODES = 32  # StarPU's --enable-maxnodes: rows and columns of the two matrices
CONFIG = """ <config id="General">
   <prop id="network/TCP-gamma" value="-1"></prop>
   <prop id="network/latency-factor" value="1"></prop>
   <prop id="network/bandwidth-factor" value="1"></prop>
   <prop id="network/weight-S" value="0.0"></prop>
   <prop id="network/crosstraffic" value="0"></prop>
 </config>
"""


def has_peers(truth):
    return truth["peer_bytes_per_s"] > 0 and len(truth["devices"]) > 1


def cpu_hosts(truth):
    """StarPU takes one CPU for each GPU, and `cores` counts what is left for CPU workers."""
    return truth["cpu"]["cores"] + len(truth["devices"])


def config_text(truth):
    return (f"# Current configuration\n{cpu_hosts(truth)} # Number of CPUs\n"
            f"{len(truth['devices'])} # Number of CUDA devices\n"
            "0 # Number of OpenCL devices\n0 # Number of other devices\n")


def matrix_text(truth, to_ram, from_ram, peer):
    """One number for each pair of memory nodes; node 0 is the host's memory."""
    devices = truth["devices"]
    rows = ["# " + "\t\t".join(f"to {node}" for node in range(MAX_NODES)) + "\t"]
    for src in range(MAX_NODES):
        row = []
        for dst in range(MAX_NODES):
            if src > len(devices) or dst > len(devices):
                row.append("nan")
            elif src == dst:
                row.append("0.000000")
            elif src == 0:
                row.append(f"{from_ram(devices[dst - 1]):.6f}")
            elif dst == 0:
                row.append(f"{to_ram(devices[src - 1]):.6f}")
            else:
                row.append(f"{peer(devices[src - 1], devices[dst - 1]):.6f}")
        rows.append("\t".join(row))
    return "\n".join(rows) + "\n"


def bandwidth_text(truth):
    def peer(src, dst):
        if has_peers(truth):
            return truth["peer_bytes_per_s"] / 1e6
        return 1e-6 / (1 / src["d2h_bytes_per_s"] + 1 / dst["h2d_bytes_per_s"])
    return matrix_text(truth, lambda d: d["d2h_bytes_per_s"] / 1e6, lambda d: d["h2d_bytes_per_s"] / 1e6, peer)


def latency_text(truth):
    def microseconds(device):
        return device["latency_seconds"] * 1e6

    def peer(src, dst):
        return max(microseconds(src), microseconds(dst)) * (1 if has_peers(truth) else 2)
    return matrix_text(truth, microseconds, microseconds, peer)


def affinity_text(truth):
    ncpus = cpu_hosts(truth)
    lines = ["# GPU\t" + "".join(f"CPU{i}\t" for i in range(ncpus))]
    lines += [f"{d}\t" + "".join(f"{i}\t" for i in range(ncpus)) for d in range(len(truth["devices"]))]
    return "\n".join(lines) + "\n"


def link(name, bytes_per_s, seconds):
    return f'   <link id="{name}" bandwidth="{bytes_per_s:.6f}Bps" latency="{seconds:.9f}s"/>\n'


def route(src, dst, *links):
    inner = "".join(f'<link_ctn id="{name}"/>' for name in links)
    return f'   <route src="{src}" dst="{dst}" symmetrical="NO">{inner}</route>\n'


def hosts_xml(truth):
    out = ['   <host id="MAIN" speed="1f"/>\n']
    out += [f'   <host id="CPU{i}" speed="2000000000f"/>\n' for i in range(cpu_hosts(truth))]
    for i, device in enumerate(truth["devices"]):
        out.append(f'   <host id="CUDA{i}" speed="2000000000f">\n'
                   f'     <prop id="model" value="{device["name"]}"/>\n'
                   f'     <prop id="memsize" value="{int(device["memory_bytes"])}"/>\n'
                   f'     <prop id="memcpy_peer" value="{int(has_peers(truth))}"/>\n'
                   '   </host>\n')
    out.append('   <host id="RAM" speed="1f"/>\n')
    return "".join(out)


def network_xml(truth):
    """Own link for each device and direction, all crossing one shared link of the host."""
    devices = truth["devices"]
    total = truth["host_link_bytes_per_s"] or sum(d["h2d_bytes_per_s"] + d["d2h_bytes_per_s"] for d in devices)
    links, routes = [link("Host", total, 0)], []
    for i, device in enumerate(devices):
        gpu = f"CUDA{i}"
        links.append(link(f"RAM-{gpu}", device["h2d_bytes_per_s"], device["latency_seconds"]))
        links.append(link(f"{gpu}-RAM", device["d2h_bytes_per_s"], device["latency_seconds"]))
        routes.append(route("RAM", gpu, f"RAM-{gpu}", "Host"))
        routes.append(route(gpu, "RAM", f"{gpu}-RAM", "Host"))
    if has_peers(truth):
        for i, src in enumerate(devices):
            for j, dst in enumerate(devices):
                if i != j:
                    name = f"CUDA{i}-CUDA{j}"
                    links.append(link(name, truth["peer_bytes_per_s"],
                                      max(src["latency_seconds"], dst["latency_seconds"])))
                    routes.append(route(f"CUDA{i}", f"CUDA{j}", name))
    return "".join(links) + "".join(routes)


def platform_text(truth):
    return ("<?xml version='1.0'?>\n"
            '<!DOCTYPE platform SYSTEM "http://simgrid.gforge.inria.fr/simgrid/simgrid.dtd">\n'
            '<platform version="4.1">\n' + CONFIG + ' <zone id="node" routing="Full">\n'
            + hosts_xml(truth) + network_xml(truth) + " </zone>\n</platform>\n")


def write_platform(truth, directory, host):
    """Returns the environment that a program needs to run on the node."""
    bus = pathlib.Path(directory) / "bus"
    bus.mkdir(parents=True, exist_ok=True)
    files = {"config": config_text, "bandwidth": bandwidth_text, "latency": latency_text,
             "affinity": affinity_text, "platform.v4.xml": platform_text}
    for suffix, text in files.items():
        (bus / f"{host}.{suffix}").write_text(text(truth))
    return {"STARPU_PERF_MODEL_DIR": str(directory), "STARPU_HOSTNAME": host}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--host", help="name of the simulated host (default: the truth's name)")
    args = parser.parse_args()
    truth = json.loads(args.truth.read_text())
    environment = write_platform(truth, args.directory, args.host or truth["name"])
    print(" ".join(f"{key}={value}" for key, value in environment.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
