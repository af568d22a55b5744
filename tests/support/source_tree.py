"""The project's own text files, and C++ text without its comments and literals."""

import os
import re

SKIPPED_DIRECTORIES = {"build", "node_modules", "__pycache__", ".git", ".cache"}
CPP = (".cpp", ".hpp")


def files(root, areas=("framework", "samples", "tools", "tests", "schemas"), suffixes=None):
    """Yields paths relative to `root`, sorted, with forward slashes."""
    for area in areas:
        for directory, names, file_names in os.walk(os.path.join(root, area)):
            names[:] = sorted(name for name in names if name not in SKIPPED_DIRECTORIES)
            for name in sorted(file_names):
                if suffixes is None or name.endswith(tuple(suffixes)):
                    yield os.path.relpath(os.path.join(directory, name), root).replace(os.sep, "/")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


_TOKEN = re.compile(
    r"""
      (?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
    | (?P<text>"(?:\\.|[^"\\\n])*")
    | (?P<char>(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')
    | (?P<line>//[^\n]*)
    | (?P<block>/\*.*?\*/)
    """,
    re.DOTALL | re.VERBOSE,
)


def code_of(text):
    """C++ text with comments and literals blanked out; every line keeps its number."""

    def blank(match):
        kept = "" if match.lastgroup in ("line", "block") else '""'
        return kept + "\n" * match.group(0).count("\n")

    return _TOKEN.sub(blank, text)


_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes_of(text):
    """Yields (line number, "<" or '"', name) of every include."""
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2)
