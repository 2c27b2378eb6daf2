#!/usr/bin/env python3
"""Seeds one violation of each rule in a scratch tree and expects exactly that rule to speak, and
that the nearest lawful text stays silent.  Exit code 1 if a rule is blind or too eager."""

import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rules import RULES  # noqa: E402

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lint")


def body(lines):
    return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"


def host(name):
    return "see https:" + f"//{name}/page\n"


# rule, path, text that breaks it, lawful neighbour (a text, or a (path, text))
CASES = [
    ("file-length", "plugin/long.cpp", "int x;\n" * 401, "int x;\n" * 400),
    ("file-length", "tools/long", "#!/usr/bin/env bash\n" + "true\n" * 400, "#!/usr/bin/env bash\n" + "true\n" * 399),
    ("function-length", "tests/a.cpp", body(61), body(60)),
    ("function-length", "tests/b.cpp", "namespace n {\nstruct S {\n" + body(61) + "};\n}\n",
     "namespace n {\nstruct S {\n" + body(60) * 2 + "};\n}\n"),
    ("function-length", "tests/c.cpp", "TEST(A, B) {\n" + '  g("}", \'{\');  // }\n' * 60 + "}\n",
     "TEST(A, B) {\n" + '  g("}", \'{\');  // }\n' * 58 + "}\n"),
    ("function-length", "tests/d.cpp", "S::S(int a)\n    : a_(a), b_{a} {\n" + "  g();\n" * 60 + "}\n",
     "const int t[] = {\n" + "  1,\n" * 80 + "};\n"),
    ("function-length", "tools/e", "#!/bin/bash\nf() {\n" + "  true\n" * 60 + "}\n", "#!/bin/bash\n" + "true\n" * 80),
    ("function-length", "tools/f.py", "def f():\n" + "    g()\n" * 60, "def f():\n" + "    g()\n" * 59),
    ("device-conditionals", "codelets/a.cpp", "#ifdef STARPU_USE_CUDA\n#endif\n", "#ifndef POAS_A_H\n#endif\n"),
    ("device-conditionals", "plugin/starpu/b.cpp", "#if defined(STARPU_SIMGRID)\n#endif\n",
     ("codelets/nocuda/b.cpp", "#if defined(STARPU_SIMGRID)\n#endif\n")),
    ("dependency-directions", "plugin/predict/a.cpp", "#include <starpu.h>\n",
     ("plugin/starpu/a.cpp", "#include <starpu.h>\n")),
    ("dependency-directions", "plugin/plan.cpp", '#include "poas/poas.h"\n', '#include "poas/plan.hpp"\n'),
    ("dependency-directions", "plugin/optimize/solver/other.cpp", "#include <glpk.h>\n",
     ("plugin/optimize/solver/glpk.cpp", "#include <glpk.h>\n")),
    ("dependency-directions", "models/fit.cpp", "#include <cuda_runtime.h>\n", "#include <vector>\n"),
    ("dependency-directions", "plugin/schedule/a.cpp", '#include "starpu/blocks.hpp"\n', '#include "adapt/adapt.hpp"\n'),
    ("dependency-directions", "codelets/a.cpp", '#include "optimize/optimize.hpp"\n', "#include <starpu.h>\n"),
    ("dependency-directions", "tools/a.cpp", '#include "models/median.hpp"\n', '#include "models/training/train.hpp"\n'),
    ("operation-names", "plugin/starpu/a.cpp", "// as in a ge" "mm\n", ("codelets/a.cpp", "// as in a ge" "mm\n")),
    ("operation-names", "plugin/predict/a.cpp", "int con" "v;\n", "int converted;\n"),
    ("private-paths", "tools/a.cmake", "set(X /ho" "me/someone/x)\n", "set(X $ENV{HOME}/x /ho" "me/user/invented)\n"),
    ("private-paths", "README.md", "in /wo" "rk/x\n", "in tests/wo" "rk/x or /usr/lib\n"),
    ("foreign-hosts", "tools/a", "#!/bin/bash\n# " + host("mirror.example.org"), "#!/bin/bash\n# " + host("github.com")),
    ("shell-syntax", "tools/a", "#!/bin/bash\nif true; then\n", "#!/bin/bash\nif true; then :; fi\n"),
    ("leftovers", "plugin/a.cpp", "int x; \n", "int x;\n"),
    ("leftovers", "plugin/a.cpp", "<" * 7 + " HEAD\n", "a << b;\n"),
    ("aborts", "plugin/starpu/a.cpp", "void f() { std::abort(); }\n", "// never abort()\nvoid f() { on_exit(); }\n"),
]


def run(path, text):
    """The rules that lint names for a tree of one file."""
    with tempfile.TemporaryDirectory() as root:
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as stream:
            stream.write(text)
        result = subprocess.run([sys.executable, LINT, root], capture_output=True, text=True)
    rules = {line.split(": ")[1] for line in result.stdout.splitlines() if line.startswith(path)}
    if result.returncode != (1 if rules else 0):
        rules.add(f"exit code {result.returncode}: {result.stderr}")
    return rules


def main():
    failures = 0
    for rule, path, bad, good in CASES:
        good_path, good_text = good if isinstance(good, tuple) else (path, good)
        for what, found, expected in (("seeded", run(path, bad), {rule}), ("lawful", run(good_path, good_text), set())):
            if found != expected:
                print(f"{rule}: {what} {path}: expected {expected or 'silence'}, lint named {found or 'nothing'}")
                failures += 1
    for blind in {r.__name__.replace("_", "-") for r in RULES} - {case[0] for case in CASES}:
        print(f"{blind}: no seeded violation")
        failures += 1
    print(f"lint self-test: {len(CASES)} seeded violations, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
