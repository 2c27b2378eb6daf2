"""Tests of `poas calibrate` on the real StarPU, with two CPU workers: PROGRAM LIBRARY GROUP."""

import json
import os
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from poas_command_test import PROGRAM, Case


class Calibrate(Case):
    def calibrate(self, name, *arguments):
        """The report as JSON or text, and what was told on the way."""
        report = os.path.join(self.folder, name)
        result = self.poas("calibrate", "--report", report, *arguments)
        with open(report, encoding="utf-8") as stream:
            return json.load(stream) if name.endswith(".json") else stream.read(), result

    def test_the_error_is_that_of_held_out_blocks(self):
        (model,), result = self.calibrate("report.json", "--budget", "3s")
        out = [block for block in model["blocks"] if block["held_out"]]
        self.assertEqual(len(out), len(model["blocks"]) // 5)
        errors = sorted(abs(block["predicted"] / block["seconds"] - 1) for block in out)
        self.assertAlmostEqual(model["errors"]["mean"], sum(errors) / len(errors))
        self.assertAlmostEqual(model["errors"]["worst"], errors[-1])
        with open(os.path.join(self.folder, "models", "here.json"), encoding="utf-8") as stream:
            stored, = json.load(stream)["models"]
        self.assertAlmostEqual(stored["relative_error"], model["errors"]["mean"])
        self.assertIn("95 of 100 within", result.stdout)

    def test_a_longer_budget_measures_more_blocks(self):
        (short,), _ = self.calibrate("short.json", "--budget", "1s")
        (longer,), _ = self.calibrate("longer.json", "--budget", "6s")
        self.assertGreater(len(longer["blocks"]), len(short["blocks"]))

    def test_the_plot_shows_every_block(self):
        text, result = self.calibrate("report.svg", "--budget", "2s")
        circles = xml.etree.ElementTree.fromstring(text).findall(".//{http://www.w3.org/2000/svg}circle")
        row = result.stdout[result.stdout.index("95 of 100"):].splitlines()[1].split()
        self.assertEqual(row[0], "cpu")
        self.assertEqual(len(circles), int(row[3]))
        self.assertEqual(sum(circle.get("class") == "held-out" for circle in circles), int(row[4]))

    def interrupted(self):
        """The models stored by a calibration of two types that is killed after the first of them."""
        unfinished = os.path.join(self.folder, "models", "here.unfinished")
        command = [PROGRAM, "calibrate", "--budget", "6s", "--types", "fp32,fp64"]
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            for _ in range(1200):
                if os.path.exists(unfinished) or run.poll() is not None:
                    break
                time.sleep(0.05)
            self.assertIsNone(run.poll(), "it ended before it could be killed")
            run.kill()
        with open(os.path.join(self.folder, "models", "here.json"), encoding="utf-8") as stream:
            return json.load(stream)["models"]

    def test_a_killed_run_is_taken_up(self):
        first, = self.interrupted()
        reported, result = self.calibrate("report.json", "--budget", "6s", "--types", "fp32,fp64")
        self.assertIn("going on", result.stderr)
        self.assertNotIn(first["implementation"], result.stderr)
        self.assertEqual([model["type"] for model in reported], ["fp32", "fp64"])
        with open(os.path.join(self.folder, "models", "here.json"), encoding="utf-8") as stream:
            stored = json.load(stream)["models"]
        self.assertIn(first, stored)
        self.assertEqual(len(stored), 2)
        # A run that ended is not gone on with: the user asks for new measurements.
        again = self.poas("calibrate", "--budget", "1s", "--types", "fp32,fp64")
        self.assertNotIn("going on", again.stderr)
        self.assertIn(first["implementation"], again.stderr)

    def test_a_killed_run_is_not_taken_up_where_that_would_surprise(self):
        self.interrupted()
        others = {"another budget": ["--budget", "7s", "--types", "fp32,fp64"], "other types": ["--budget", "1s"],
                  "fresh": ["--budget", "2s", "--types", "fp32,fp64", "--fresh"]}
        with open(os.path.join(self.folder, "models", "here.unfinished"), encoding="utf-8") as stream:
            kept = stream.read()
        for what, arguments in others.items():
            self.write("models/here.unfinished", kept)
            result = self.poas("calibrate", *arguments)
            self.assertNotIn("going on", result.stderr, what)
            self.assertEqual("not taken up" in result.stderr, what != "fresh", what)
        self.write("models/here.unfinished", "{")
        self.assertIn("cannot be read", self.poas("calibrate", "--budget", "1s").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
