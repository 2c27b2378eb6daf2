"""A simulated node for scripts: runs node_gemm there, and knows the truth's formulas."""
import json
import os
import pathlib
import subprocess

import platform_files

HERE = pathlib.Path(__file__).resolve().parent
TRUTH = HERE.parent / "data" / "truth"
SWEEPS = HERE / "sweeps"
# Allocations on a device are slow and go one after the other for all devices, but StarPU keeps the
# buffers: the second of two runs is the time that a program sees.
WARM = ("--runs", 2)


def truth_names():
    return sorted(path.stem for path in TRUTH.glob("*.json"))


class RunError(RuntimeError):
    """A simulated run that did not end well; holds its whole stderr."""


class Node:
    def __init__(self, name, program, scratch, library=None):
        self.name, self.program = name, program
        self.file = TRUTH / f"{name}.json"
        self.truth = json.loads(self.file.read_text())
        self.environment = {**os.environ, "STARPU_HOME": str(scratch), "STARPU_SILENT": "1",
                            "POAS_MODEL_DIR": str(scratch),
                            # Bigger folds: fewer mappings for matrices that hold nothing.
                            "STARPU_MALLOC_SIMULATION_FOLD": "8",
                            **platform_files.write_platform(self.truth, scratch, name)}
        if library:
            self.environment |= {"STARPU_SCHED": "poas", "STARPU_SCHED_LIB": str(library)}

    def run(self, *arguments, timeout=120):
        """node_gemm's JSON for these arguments."""
        command = [str(self.program), "--log=root.thresh:warning", "--truth", str(self.file),
                   *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout)
        if done.returncode != 0:
            raise RunError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def makespan(self, *arguments, timeout=120):
        return self.run(*arguments, timeout=timeout)["makespan"]

    @property
    def devices(self):
        return self.truth["devices"]

    def unit_names(self):
        return [self.truth["cpu"]["name"]] + [device["name"] for device in self.devices]

    def rates(self, kind="fp32"):
        """flop/s of each unit at its best, all cores together for the CPU."""
        cpu = self.truth["cpu"]
        return ([cpu["rate_flops_per_core"].get(kind, 0) * cpu["cores"]]
                + [d["rate_flops"].get(kind, 0) * d["speed_factor"] for d in self.devices])

    def block_seconds(self, unit, m, n, k, kind="fp32"):
        """The formula of tests/data/truth/README.md, one core for the CPU; no spread."""
        device = self.truth["cpu"] if unit == 0 else self.devices[unit - 1]
        tile_m, tile_n, _ = device["tile"]
        sms = device.get("sms", 1)
        rate = (device["rate_flops_per_core"][kind] if unit == 0
                else device["rate_flops"][kind] * device["speed_factor"])
        waves = -(-(-(-m // tile_m) * -(-n // tile_n)) // sms)
        return device["launch_seconds"] + waves * tile_m * tile_n * 2 * k * sms / rate
