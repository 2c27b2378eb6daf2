"""Tests of the `poas` command: PROGRAM LIBRARY GROUP."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM, LIBRARY = (os.path.realpath(path) for path in sys.argv[1:3])
VARIABLES = ("STARPU_SCHED", "POAS_", "OPENBLAS_NUM_THREADS", "XDG_DATA_HOME")


class Case(unittest.TestCase):
    """Runs the command with an empty folder for models and none of the user's settings."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(VARIABLES)}
        self.environment |= {"POAS_MODEL_DIR": os.path.join(self.folder, "models"), "STARPU_HOSTNAME": "here"}

    def poas(self, *arguments, expect=0, **environment):
        result = subprocess.run([PROGRAM, *arguments], env=self.environment | environment, text=True,
                                capture_output=True, timeout=200, check=False)
        self.assertEqual(result.returncode, expect, f"poas {arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def refused(self, *arguments, code, words):
        """The exit code, and each of the words in the message."""
        message = self.poas(*arguments, expect=code).stderr
        for word in words:
            self.assertIn(word, message)

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path


class Usage(Case):
    def test_every_command_explains_itself(self):
        self.assertIn("calibrate", self.poas("--help").stdout)
        for command in (["run"], ["env"], ["machine"], ["calibrate"], ["fit"], ["plan"], ["plan", "gemm"], ["doctor"]):
            self.assertIn("Usage:", self.poas(*command, "--help").stdout)

    def test_wrong_usage_is_told_apart(self):
        self.poas(expect=2)
        self.poas("nonsense", expect=2)
        self.poas("run", expect=2)
        self.poas("doctor", "--nonsense", expect=2)
        self.refused("calibrate", "--budget", "soon", code=2, words=["soon", "30s"])
        self.refused("calibrate", "--budget", "-3s", code=2, words=["-3s"])
        self.refused("calibrate", "--types", "fp12", code=2, words=["fp12"])
        self.refused("calibrate", "--report", "errors.png", code=2, words=["errors.png", ".svg"])


class Fit(Case):
    HEAD = "# Maker Card 7, CUDA 1.0, 10 multiprocessors\ntype\timplementation\tm\tn\tk\tseconds\n"

    @staticmethod
    def rows(shapes):
        # 1 us and 1e12 flop/s.
        return "".join(f"fp32\tcard\t{m}\t{n}\t{k}\t{1e-6 + 2e-12 * m * n * k:.9g}\n" for m, n, k in shapes)

    def test_a_table_becomes_models_that_plans_of_such_machines_use(self):
        known = [(64 * i, 64 * j, 64 * k) for i in range(1, 5) for j in range(1, 5) for k in range(1, 5)]
        train = self.write("train.tsv", self.HEAD + self.rows(known))
        test = self.write("test.tsv", self.HEAD + self.rows([(100, 200, 300), (300, 200, 100), (77, 77, 7777)]))
        out = os.path.join(self.folder, "maker-card-7.json")
        printed = self.poas("fit", "--train", train, "--test", test, "--out", out, "--note", "by a test").stdout
        self.assertIn("card on Maker Card 7, from 64 blocks", printed)
        self.assertIn("0.0 %", printed)
        with open(out, encoding="utf-8") as file:
            models = json.load(file)
        self.assertIn("by a test", models["when"])
        model, = models["models"]
        self.assertEqual((model["unit"], model["implementation"], model["type"]), ("Maker Card 7", "card", "fp32"))
        self.assertAlmostEqual(model["seconds_per_flop"] * 1e12, 1, places=3)

    def test_what_is_no_table_is_named(self):
        self.refused("fit", "--train", "nowhere.tsv", code=1, words=["nowhere.tsv"])
        self.refused("fit", "--train", self.write("empty.tsv", self.HEAD), code=1, words=["empty.tsv", "gpu_samples"])
        odd = self.write("odd.tsv", self.HEAD + "int4\tcard\t1\t1\t1\t1\n")
        self.refused("fit", "--train", odd, code=1, words=["int4", "fp64"])
        few = self.write("few.tsv", self.HEAD + self.rows([(1, 2, 3), (4, 5, 6)]))
        self.refused("fit", "--train", few, code=1, words=["at least 3"])


class Run(Case):
    def environment_of(self, *arguments, **environment):
        output = self.poas("run", *arguments, "--", "env", "-0", **environment).stdout
        return dict(line.split("=", 1) for line in output.split("\0") if line)

    def test_the_program_runs_under_poas(self):
        seen = self.environment_of()
        self.assertEqual(seen["STARPU_SCHED"], "poas")
        self.assertEqual(os.path.realpath(seen["STARPU_SCHED_LIB"]), LIBRARY)
        self.assertEqual(seen["OPENBLAS_NUM_THREADS"], "1")
        self.assertNotIn("POAS_OBJECTIVE", seen)

    def test_a_policy_in_the_environment_gives_way_but_not_the_threads(self):
        seen = self.environment_of(STARPU_SCHED="dmdas", OPENBLAS_NUM_THREADS="3")
        self.assertEqual(seen["STARPU_SCHED"], "poas")
        self.assertEqual(seen["OPENBLAS_NUM_THREADS"], "3")

    def test_options_become_variables(self):
        seen = self.environment_of("--objective", "time", "--precision", "tf32", "--split", "never", "--units",
                                   "cpu,cuda0", "--explain", "2", "--record", "plans.jsonl")
        expected = {"POAS_OBJECTIVE": "time", "POAS_PRECISION": "tf32", "POAS_SPLIT": "never",
                    "POAS_UNITS": "cpu,cuda0", "POAS_EXPLAIN": "2", "POAS_RECORD": os.path.abspath("plans.jsonl")}
        self.assertEqual({name: seen.get(name) for name in expected}, expected)

    def test_arguments_and_exit_code_are_those_of_the_program(self):
        arguments = ["-n", "--help", "a b", "", "--", "plan"]
        script = "import sys; print(sys.argv[1:]); sys.exit(41)"
        result = self.poas("run", "--", sys.executable, "-c", script, *arguments, expect=41)
        self.assertEqual(result.stdout.strip(), str(arguments))

    def test_wrong_values_start_nothing(self):
        for option, value in (("--objective", "beauty"), ("--precision", "fp12"), ("--split", "perhaps")):
            result = self.poas("run", option, value, "--", "echo", "started", expect=2)
            self.assertEqual(result.stdout, "")
            self.assertIn(option, result.stderr)
            self.assertIn(value, result.stderr)
        self.poas("run", "--explain", "3", "--", "echo", expect=2)
        self.poas("run", "--units", ",", "--", "echo", expect=2)

    def test_a_program_that_is_not_there_is_named(self):
        self.refused("run", "--", "./no-such-program", code=127, words=["./no-such-program", "No such file"])

    def test_json_tells_what_is_started(self):
        file = os.path.join(self.folder, "run.json")
        self.poas("run", "--json", file, "--", "true", "-x")
        with open(file, encoding="utf-8") as stream:
            told = json.load(stream)
        self.assertEqual(told["program"], ["true", "-x"])
        self.assertEqual(told["environment"]["STARPU_SCHED"], "poas")


class Env(Case):
    def test_a_shell_that_reads_it_has_what_run_sets(self):
        options = ["--split", "always", "--record", "it's $HOME \"here\""]
        told = json.loads(self.poas("env", *options, "--json").stdout)
        exports = self.poas("env", *options).stdout
        names = " ".join(told)
        shell = f'eval "$1"; for name in {names}; do eval "printf \'%s\\0\' \\"\\$$name\\""; done'
        values = subprocess.run(["sh", "-c", shell, "sh", exports], capture_output=True, text=True, check=True,
                                env=self.environment).stdout.split("\0")[:-1]
        self.assertEqual(values, list(told.values()))
        self.assertEqual(told["POAS_RECORD"], os.path.abspath(options[-1]))


def two_units():
    """One core and one device behind links so fast that copies take no part."""
    return {"version": 1, "name": "two", "source": "measured", "host_link_bytes_per_s": 0, "task_overhead": 0,
            "split_overhead": 0,
            "devices": [{"name": "cuda0", "memory_bytes": 1e12, "h2d_bytes_per_s": 1e18, "d2h_bytes_per_s": 1e18,
                         "latency": 0, "peer_bytes_per_s": 0}],
            "units": [{"name": "cpu", "kind": "cpu", "device": -1, "workers": 1},
                      {"name": "cuda0", "kind": "cuda", "device": 0, "workers": 1}]}


def models(rates):
    """Models of GEMM without fixed times: (unit, implementation) -> flop/s."""
    return {"version": 1, "when": "2024-01-01", "changes": 1, "machine": None,
            "models": [{"unit": unit, "operation": "gemm", "implementation": implementation, "type": "fp32", "fixed": 0,
                        "seconds_per_flop": 1 / rate, "seconds_per_byte": 0, "tile": [1], "parallel": 1,
                        "relative_error": 0, "samples": 9} for (unit, implementation), rate in rates.items()]}


class Plan(Case):
    size = ["-m", "8k", "-n", "8k", "-k", "1024"]

    def setUp(self):
        super().setUp()
        self.machine = self.write("machine.json", two_units())

    def plan(self, *arguments, expect=0):
        return json.loads(self.poas("plan", "gemm", *self.size, "--machine", self.machine, *arguments, "--json",
                                    expect=expect).stdout)

    def implementations(self):
        """Names of the implementations that each unit would use."""
        return {unit: self.plan("--units", unit)["units"][i]["implementation"]
                for i, unit in enumerate(("cpu", "cuda0"))}

    def test_models_that_came_with_poas_serve_machines_of_their_product(self):
        device = {"name": "cuda0", "memory_bytes": 141e9, "h2d_bytes_per_s": 55e9, "d2h_bytes_per_s": 55e9,
                  "latency": 1e-5, "product": "NVIDIA H200"}
        units = [{"name": "cuda0.tensor", "kind": "tensor", "device": 0, "workers": 1}]
        machine = {"version": 1, "name": "there", "devices": [device], "units": units, "host_link_bytes_per_s": 101e9,
                   "task_overhead": 1e-5, "split_overhead": 1e-4, "block_overhead": 6e-6, "source": "by hand"}

        def plan():
            file = self.write("machine.json", machine)
            return json.loads(self.poas("plan", "gemm", "-m", "8192", "-n", "8192", "-k", "8192", "--precision", "tf32",
                                        "--machine", file, "--json").stdout)

        known = plan()
        self.assertEqual(known["source"], "measured")
        # By hand, in StarPU on an H200: 11.2 ms; the copies alone take 9.7.
        self.assertGreater(known["makespan"], 9.7e-3)
        self.assertLess(known["makespan"], 12.5e-3)
        device["product"] = "Unknown Card"
        self.assertEqual(plan()["source"], "default")

    def test_shares_follow_the_rates(self):
        names = self.implementations()
        rates = {("cpu", names["cpu"]): 1e12, ("cuda0", names["cuda0"]): 3e12}
        plan = self.plan("--models", self.write("models.json", models(rates)))
        self.assertTrue(plan["split"])
        cpu, cuda = plan["units"]
        # A block may be as coarse as one multiple of the implementation: 256 of 8192 columns.
        self.assertAlmostEqual(cpu["share"], 0.25, delta=0.03)
        self.assertAlmostEqual(cuda["share"], 0.75, delta=0.03)
        best = 2 * 8192 * 8192 * 1024 / 4e12
        self.assertAlmostEqual(plan["makespan"] / best, 1, delta=0.06)
        self.assertGreater(plan["plan_seconds"], 0)

    def test_sizes_are_binary_thousands(self):
        self.assertIn("8192", self.plan()["operation"])

    def test_one_unit_only(self):
        for arguments in (["--split", "never"], ["--units", "cpu"]):
            plan = self.plan(*arguments)
            self.assertFalse(plan["split"], arguments)
        self.assertEqual(plan["whole_unit"], "cpu")

    def test_people_get_words_with_units(self):
        text = self.poas("plan", "gemm", *self.size, "--machine", self.machine).stdout
        self.assertIn("makespan", text)
        self.assertRegex(text, r"\d (ms|us|s)\b")

    def test_wrong_input_is_refused_with_words(self):
        def refused(*arguments, code, words):
            self.refused("plan", "gemm", "--machine", self.machine, *arguments, code=code, words=words)
        refused("-m", "0", "-n", "1", "-k", "1", code=2, words=["-m"])
        refused("-m", "4G", "-n", "1", "-k", "1", code=2, words=["-m"])
        refused("-m", "many", "-n", "1", "-k", "1", code=2, words=["-m"])
        refused("-m", "1", "-n", "1", code=2, words=["-k"])
        refused(*self.size, "--type", "fp12", code=2, words=["fp12"])
        refused(*self.size, "--objective", "beauty", code=2, words=["beauty"])
        refused(*self.size, "--transa", "X", code=2, words=["--transa"])
        refused(*self.size, "--units", "cuda7", code=77, words=["cuda7", "cuda0"])
        refused(*self.size, "--models", self.folder + "/none.json", code=1, words=["none.json"])
        refused(*self.size, "--models", self.write("bad.json", "{"), code=1, words=["bad.json"])
        for name, words in (("none", "No such file"), ("", "Is a directory"), ("empty", "not JSON")):
            self.write("empty", "")
            self.refused("plan", "gemm", *self.size, "--machine", os.path.join(self.folder, name), code=1, words=[words])

    def test_the_stored_machine_of_this_host_is_used(self):
        stored = models({})
        stored["machine"] = two_units()
        os.mkdir(os.path.join(self.folder, "models"))
        self.write("models/here.json", stored)
        plan = json.loads(self.poas("plan", "gemm", *self.size, "--json").stdout)
        self.assertEqual([unit["name"] for unit in plan["units"]], ["cpu", "cuda0"])


class Node(Case):
    """On the real StarPU, with two CPU workers and no device."""

    def health(self, expect=0, **environment):
        found = json.loads(self.poas("doctor", "--json", expect=expect, **environment).stdout)
        self.assertEqual(found["ok"], expect == 0)
        return {one["what"]: one for one in found["findings"]}

    def test_machine_lists_the_units(self):
        node = json.loads(self.poas("machine", "--json").stdout)
        self.assertEqual([(unit["name"], unit["workers"]) for unit in node["machine"]["units"]], [("cpu", 2)])
        self.assertEqual(node["models"], [])
        self.assertIn("poas calibrate", self.poas("machine").stdout)

    def learned(self, samples):
        """A file of this host in which running tasks showed that a core takes 2.5 times as long as a model says."""
        model = {"fixed": 0, "seconds_per_flop": 1e-10, "seconds_per_byte": 0, "tile": [1], "parallel": 1,
                 "relative_error": 0, "samples": samples}
        key = {"unit": "cpu", "operation": "gemm", "implementation": "openblas-fp32", "type": "fp32"}
        os.mkdir(os.path.join(self.folder, "models"))
        self.write("models/here.json", {
            "version": 1, "host": "here", "when": "2024-01-01", "changes": 1, "machine": None,
            "models": [key | model] if samples else [],
            "learned": [key | {"factor": 2.5, "tasks": 40, "when": "2024-01-02", "model": model}]})

    def test_machine_tells_what_was_learned(self):
        self.learned(samples=9)
        node = json.loads(self.poas("machine", "--json").stdout)
        one, = node["learned"]
        self.assertEqual((one["unit"], one["factor"], one["tasks"], one["when"], one["parted"]),
                         ("cpu", 2.5, 40, "2024-01-02", True))
        self.assertAlmostEqual(node["models"][0]["seconds_per_flop"], 2.5e-10)
        text = self.poas("machine").stdout
        for words in ("2.50 times", "40", "2024-01-02", "poas calibrate"):
            self.assertIn(words, text)
        plan = json.loads(self.poas("plan", "gemm", "-m", "1k", "-n", "1k", "-k", "1k", "--split", "never", "--json").stdout)
        self.assertEqual(plan["source"], "measured")

    def test_a_guess_that_ran_is_no_guess_and_parts_from_nothing(self):
        self.learned(samples=0)
        node = json.loads(self.poas("machine", "--json").stdout)
        self.assertFalse(node["learned"][0]["parted"])
        self.assertEqual(node["models"][0]["samples"], 40)

    def test_calibration_forgets_what_was_learned_of_older_models(self):
        self.learned(samples=9)
        self.poas("calibrate", "--budget", "1s")
        node = json.loads(self.poas("machine", "--json").stdout)
        self.assertEqual(node["learned"], [])

    def test_without_workers_there_is_no_hardware(self):
        self.poas("machine", expect=77, STARPU_NCPU="0")
        self.poas("calibrate", expect=77, STARPU_NCPU="0")

    def test_calibration_is_stored_and_used(self):
        told = os.path.join(self.folder, "told.json")
        result = self.poas("calibrate", "--budget", "2s", "--json", told)
        self.assertIn("openblas", result.stdout)
        self.assertIn("calibrating", result.stderr)
        file = os.path.join(self.folder, "models", "here.json")
        with open(file, encoding="utf-8") as stream:
            stored = json.load(stream)
        with open(told, encoding="utf-8") as stream:
            report = json.load(stream)
        self.assertTrue(report["ok"])
        self.assertEqual(report["models"], stored["models"])
        self.assertEqual({model["unit"] for model in stored["models"]}, {"cpu"})
        self.assertGreaterEqual(stored["models"][0]["samples"], 3)
        node = json.loads(self.poas("machine", "--json").stdout)
        self.assertEqual(node["models"], stored["models"])
        self.assertEqual(node["model_file"], file)
        self.assertEqual(self.health()["models"]["health"], "ok")
        plan = json.loads(self.poas("plan", "gemm", "-m", "512", "-n", "512", "-k", "512", "--json").stdout)
        self.assertEqual(plan["source"], "measured")

    def test_models_that_cannot_be_stored_are_shown_all_the_same(self):
        self.write("models", "a file where a directory should be")
        result = self.poas("calibrate", "--budget", "1s", expect=1)
        self.assertIn("openblas", result.stdout)
        self.assertIn("not stored", result.stderr)
        self.assertEqual(self.health(expect=1)["model directory"]["health"], "fail")

    def test_a_sound_node_has_no_fault(self):
        found = self.health(OPENBLAS_NUM_THREADS="1")
        for what in ("libpoas", "StarPU", "policy", "model directory", "OPENBLAS_NUM_THREADS", "bus calibration"):
            self.assertEqual(found[what]["health"], "ok", found[what])
        self.assertIn("2 CPU, 0 CUDA, 0 OpenCL", found["workers"]["found"])
        self.assertEqual(found["models"]["health"], "warn")
        self.assertNotIn("STARPU_SCHED", found)

    def test_faults_are_found_and_have_advice(self):
        os.mkdir(os.path.join(self.folder, "models"))
        self.write("models/here.json", '{"version": 2}')
        copy = self.write("libpoas.so", "")
        found = self.health(expect=1, STARPU_SCHED="dmdas", STARPU_SCHED_LIB=copy, OPENBLAS_NUM_THREADS="4",
                            STARPU_LIMIT_MAX_SUBMITTED_TASKS="100")
        expected = {"models": "fail", "STARPU_SCHED": "warn", "STARPU_SCHED_LIB": "fail", "OPENBLAS_NUM_THREADS": "warn",
                    "STARPU_LIMIT_MAX_SUBMITTED_TASKS": "warn", "policy": "fail"}
        self.assertEqual({what: found[what]["health"] for what in expected}, expected)
        for what in expected:
            self.assertTrue(found[what]["advice"], what)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
