"""The rules of the tree.  Each takes a File and yields (line, message); RULES names them all."""

import re
import subprocess

from functions import functions, without_literals

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

PURE = re.compile(r"^(plugin/(predict|optimize|adapt|schedule)/|plugin/[^/]+\.(cpp|hpp)$|models/)")
CLIENT = re.compile(r"^(codelets|examples|tools)/")
VENDOR = re.compile(r"^(cuda|cublas|cudnn|cufft|nvml|CL/|clblast)", re.I)
EDGE = re.compile(r"^(starpu/|poas/(poas\.h|runtime\.hpp|divisible\.hpp)$)")
# models/training is a library of its own, for programs that fit.
INTERNAL = re.compile(r"^(plugin|predict|optimize|adapt|schedule|starpu|models(?!/training))/")
# Hosts that texts may name: where the project's foundations live.
HOSTS = {"starpu.gitlabpages.inria.fr", "gitlab.inria.fr", "github.com", "www.apache.org", "www.gnu.org",
         "doi.org", "arxiv.org", "simgrid.org", "developer.nvidia.com", "docs.nvidia.com", "simgrid.gforge.inria.fr",
         "www.w3.org", "localhost"}


def file_length(file):
    if file.kind in ("c", "shell", "python", "cmake") and len(file.lines) > MAX_FILE_LINES:
        yield len(file.lines), f"{len(file.lines)} lines, {MAX_FILE_LINES} are allowed: split the file"


def function_length(file):
    for name, first, last in functions(file.kind, file.text):
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield first, f"{name} has {last - first + 1} lines, {MAX_FUNCTION_LINES} are allowed: split the function"


def device_conditionals(file):
    """Back ends are chosen by source lists, not by #if."""
    if file.kind != "c" or "nocuda/" in file.path or file.path.endswith(".in"):
        return
    for number, line in enumerate(file.lines, 1):
        if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b.*(CUDA|SIMGRID|OPENCL|CUDNN|CUBLAS)", line):
            yield number, "conditional on a back end: choose by source lists in CMake"


def includes(file):
    for number, line in enumerate(file.lines, 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1)


def dependency_directions(file):
    if file.kind != "c":
        return
    for number, header in includes(file):
        if PURE.match(file.path):
            if header.startswith("starpu") or EDGE.match(header):
                yield number, f"{header}: stages and models know no StarPU"
            if header == "glpk.h" and file.path != "plugin/optimize/solver/glpk.cpp":
                yield number, "glpk.h: only plugin/optimize/solver/glpk.cpp knows GLPK"
            if VENDOR.match(header):
                yield number, f"{header}: stages and models know no device library"
        elif CLIENT.match(file.path) and INTERNAL.match(header):
            yield number, f"{header}: codelets, examples and tools know the public interface only (poas/...)"


def operation_names(file):
    """The plugin treats every codelet alike."""
    if not file.path.startswith("plugin/"):
        return
    for number, line in enumerate(file.lines, 1):
        match = re.search(r"gemm|\bconv(?:2d)?\b|convolution", line, re.I)
        if match:
            yield number, f"'{match.group(0)}': plugin/ names no operation"


def private_paths(file):
    for number, line in enumerate(file.lines, 1):
        match = re.search(r"(?<![\w.}$])/(home|root|work|Users)/(?!user\b)[\w.]", line)
        if match:
            yield number, f"'{match.group(0)}': a path of one machine"


def foreign_hosts(file):
    for number, line in enumerate(file.lines, 1):
        for host in re.findall(r"\b(?:https?|ftp|ssh|git)://([\w.-]+)", line):
            if host not in HOSTS:
                yield number, f"'{host}': not among the hosts that the tree may name"


def shell_syntax(file):
    if file.kind != "shell":
        return
    result = subprocess.run(["bash", "-n", "/dev/stdin"], input=file.text, capture_output=True, text=True)
    if result.returncode:
        yield 1, (result.stderr.strip().splitlines() or ["bash -n fails"])[0]


def leftovers(file):
    if file.kind == "data":
        return
    for number, line in enumerate(file.lines, 1):
        if re.match(r"(<{7}|>{7}) ", line):
            yield number, "a merge conflict is left"
        if line != line.rstrip():
            yield number, "white space at the end of the line"
        if file.kind in ("c", "python", "cmake") and line.startswith("\t"):
            yield number, "a tab: indent with spaces"


def aborts(file):
    """Library code ends no process."""
    if file.kind != "c" or not re.match(r"^(plugin|models|codelets)/", file.path):
        return
    for number, line in enumerate(without_literals(file.text).splitlines(), 1):
        if re.search(r"(?<![\w.>])(std::)?(abort|exit|_exit|quick_exit|terminate)\s*\(", line):
            yield number, "ends the process of the application: report an error"


RULES = (file_length, function_length, device_conditionals, dependency_directions, operation_names, private_paths,
         foreign_hosts, shell_syntax, leftovers, aborts)
