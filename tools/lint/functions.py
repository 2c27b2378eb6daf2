"""Finds the functions of a file and their lengths, well enough to enforce a limit."""

import ast
import re

NOT_A_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|extern|if|for|while|switch|do|else|try|catch)\b")
LITERAL = re.compile(
    r'R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)"'  # raw strings
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"  # not the separators of 1'000
    r"|//[^\n]*|/\*.*?\*/",
    re.DOTALL,
)


def without_literals(text):
    """C or C++ text with strings and comments blanked; line numbers stay."""
    return LITERAL.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def without_directives(text):
    """The text with preprocessor lines and their continuations blanked."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.M)


def c_functions(text):
    """Yields (name, first line, last line) of the functions of a C or C++ file."""
    text = without_directives(without_literals(text))
    opened = []  # for each open brace: is it a function, its name and line, state to return to
    start = parentheses = inside = 0  # begin of the declaration, depths of parentheses and functions
    for at, char in enumerate(text):
        if char in "()":
            parentheses += 1 if char == "(" else -1
        elif char == ";" and not parentheses:
            start = at + 1
        elif char == "{":
            head = text[start:at]
            value = bool(re.search(r"[\w>\]]$", head))  # member{value}, type{value}: no body
            function = not (inside or value or NOT_A_FUNCTION.match(head)) and "(" in head and "=" not in head.split("(")[0]
            name = re.search(r"([\w:~]+)\s*\(", head)
            line = text.count("\n", 0, at - len(head.lstrip())) + 1
            opened.append((function, name.group(1) if name else "?", line, parentheses, start if value else None))
            inside += function
            start, parentheses = at + 1, 0
        elif char == "}" and opened:
            function, name, line, parentheses, before = opened.pop()
            inside -= function
            if function:
                yield name, line, text.count("\n", 0, at) + 1
            start = at + 1 if before is None else before


def shell_functions(text):
    """Yields the functions of a shell script that close with a brace in the first column."""
    opened = None
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"^([\w-]+)\s*\(\)\s*\{", line)
        if head and not line.rstrip().endswith("}"):
            opened = (head.group(1), number)
        elif opened and line.startswith("}"):
            yield opened[0], opened[1], number
            opened = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno


def functions(kind, text):
    return {"c": c_functions, "shell": shell_functions, "python": python_functions}.get(kind, lambda _: ())(text)
