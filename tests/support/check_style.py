#!/usr/bin/env python3
"""Checks the house style that clang-format cannot: sizes, words, sleeps, the top level.

    check_style.py [ROOT]

Prints one line per violation and exits with 1 if there is any. A line that must break a rule of
words or sleeps carries "style: REASON" in a comment on itself or the line above.
"""

import os
import re
import sys

import source_tree

MAX_COLUMNS = 100
MAX_FILE_LINES = 500
MAX_HEADER_LINES = 200
MAX_FUNCTION_LINES = 60

# Files that may be longer, with the reason.
LONGER_FILES = {
    "framework/location/lease.hpp": 240,  # one state machine: its events, actions and states
}

CODE = (".cpp", ".hpp", ".py", ".sh", ".cmake", "CMakeLists.txt", ".js", ".mjs", ".ts", ".fbs")
TEXT = CODE + (".css", ".html", ".md", ".json", ".toml", ".yml", ".svg")
TOP_LEVEL = {
    "framework", "samples", "tools", "schemas", "tests", "assets",
    "CMakeLists.txt", "CMakePresets.json", "README.md",
}

# Written in pieces so that this file does not violate itself.
WORDS = {
    "a note to do something later": r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b",
    "a path of one machine": r"(?<![\w.$}])/(?:ro" r"ot|ho" r"me/\w+|wo" r"rk)/",
    "a place outside the project": r"\bsha" r"red/(?:design|seeds|bench)\b",
}
SLEEPS = {
    CODE[:2]: r"\bsleep_(?:for|until)\b|\bu?sleep\s*\(|\bnanosleep\b",
    (".py",): r"\btime\.sleep\s*\(",
    (".sh",): r"(?:^|[;&|]|\bdo|\bthen)\s*sleep\s",
    (".js", ".mjs", ".ts"): r"\bsetTimeout\s*\(\s*(?:r|res|resolve|done)\b|timers/promises"
                            r"|\bwaitForTimeout\b",
}
# An example in a comment is indented by three columns or more.
COMMENTED_OUT = (r"^\s*//(?!/) {0,2}(?:[\w:<>*&.]+(?: [\w:<>*&.]+)*\(.*\);"
                 r"|(?:return|auto|const|if|for|while)\b.*[;{])\s*$")
WAIVER = re.compile(r"style: \w+")


def check_lines(path, lines):
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield number, "has a tab"
        if line != line.rstrip():
            yield number, "has white space at its end"
        if path.endswith(CODE) and len(line) > MAX_COLUMNS:
            yield number, f"has {len(line)} columns; {MAX_COLUMNS} are allowed"


def check_length(path, lines):
    limit = MAX_HEADER_LINES if path.endswith(".hpp") else MAX_FILE_LINES
    limit = LONGER_FILES.get(path, limit)
    if path.endswith(CODE) and len(lines) > limit:
        yield 1, f"has {len(lines)} lines; {limit} are allowed: split it by concept"


def is_waived(lines, number):
    return any(WAIVER.search(line) for line in lines[max(0, number - 2):number])


def check_words(path, lines):
    rules = dict(WORDS)
    if "/tests/" in f"/{path}":
        for suffixes, pattern in SLEEPS.items():
            if path.endswith(suffixes):
                rules["a sleep where a condition can be awaited"] = pattern
    if path.endswith(source_tree.CPP):
        rules["code in a comment"] = COMMENTED_OUT
    for what, pattern in rules.items():
        expression = re.compile(pattern)
        for number, line in enumerate(lines, 1):
            if expression.search(line) and not is_waived(lines, number):
                yield number, f"has {what}"


_NOT_A_FUNCTION = re.compile(
    r"^\s*(?:inline\s+|export\s+)?(?:namespace|class|struct|enum|union|extern)\b"
    r"|^\s*template\s*<[^()]*>\s*(?:class|struct|union)\b|=\s*\{$")


def functions_of(lines):
    """Yields (first line, length) of every function body of clang-formatted C++ code.

    A function opens with a line that ends in a brace below a declarator with a parenthesis, and
    closes at the next line that starts with a brace in the same column.
    """
    index = 0
    while index < len(lines):
        line = lines[index]
        start = index
        if not line.rstrip().endswith("{"):
            index += 1
            continue
        indent = len(line) - len(line.lstrip())
        # The declaration may have begun above, in lines that end neither a statement nor a block.
        while start > 0 and lines[start - 1].strip() and not re.search(
                r"[;{}:]\s*$|^\s*#|^\s*(?:public|private|protected)\s*:", lines[start - 1]):
            start -= 1
        head = " ".join(part.strip() for part in lines[start:index + 1])
        if _NOT_A_FUNCTION.search(head) or "(" not in head:
            index += 1
            continue
        first_indent = len(lines[start]) - len(lines[start].lstrip())
        closing = " " * min(indent, first_indent) + "}"
        end = index + 1
        while end < len(lines) and not lines[end].startswith(closing):
            end += 1
        yield start + 1, end - start + 1
        index = end + 1


def check_functions(path, text):
    if not path.endswith(source_tree.CPP):
        return
    for number, length in functions_of(source_tree.code_of(text).split("\n")):
        if length > MAX_FUNCTION_LINES:
            yield number, f"begins a function of {length} lines; {MAX_FUNCTION_LINES} are allowed"


def check_file(path, text):
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    else:
        yield len(lines), "has no newline at its end"
    if "\r" in text:
        yield 1, "has carriage returns"
    if path.endswith(".hpp") and "#pragma once" not in lines:
        yield 1, "is a header without #pragma once"
    yield from check_lines(path, lines)
    yield from check_length(path, lines)
    yield from check_words(path, lines)
    yield from check_functions(path, text)


def check_top_level(root):
    for name in sorted(os.listdir(root)):
        if not name.startswith(".") and name not in TOP_LEVEL | {"build"}:
            yield f"{name}: has no place at the top level: {', '.join(sorted(TOP_LEVEL))}"


def violations(root):
    """Yields "path:line: complaint"."""
    yield from check_top_level(root)
    areas = ("framework", "samples", "tools", "tests", "schemas", "assets", ".ci")
    paths = list(source_tree.files(root, areas, TEXT))
    paths += [name for name in sorted(os.listdir(root)) if name.endswith(TEXT)]
    for path in paths:
        for number, complaint in check_file(path, source_tree.read(root, path)):
            yield f"{path}:{number}: {complaint}"


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else default))
    print("\n".join(found) if found else "every file keeps to the house style")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
