#!/usr/bin/env python3
"""Checks what the pages claim about the tree.

    check_docs.py [ROOT]

A code block below a line "<!-- from PATH -->" is that file, or a part of it, to the letter.
Relative links and pictures lead somewhere. The table of modules in architecture.md is the one that
layout.py enforces. Every command in a "sh" block of README.md is run: readme_commands.py.
"""

import os
import re
import sys

import layout
import readme_commands
import source_tree

SNIPPET = re.compile(r"<!-- from (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)|(?:src|href)=\"([^\"#]+)\"")
CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MODULE_ROW = re.compile(r"^\| `([\w/]+)` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
ARCHITECTURE = "framework/docs/architecture.md"


def pages(root):
    areas = ("framework", "samples", "tools", "tests", "schemas")
    yield from (name for name in sorted(os.listdir(root)) if name.endswith(".md"))
    yield from source_tree.files(root, areas, (".md",))


def check_snippets(root, page, text):
    for path, block in SNIPPET.findall(text):
        if not os.path.isfile(os.path.join(root, path)):
            yield f"{page}: quotes {path}, which does not exist"
        elif block not in source_tree.read(root, path):
            yield f"{page}: what it quotes from {path} is not there any more"


def check_links(root, page, text):
    for match in LINK.finditer(CODE_BLOCK.sub("", text)):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        path = os.path.normpath(os.path.join(root, os.path.dirname(page), target))
        if not os.path.exists(path):
            yield f"{page}: links to {target}, which does not exist"


def check_modules(root):
    if not os.path.isfile(os.path.join(root, ARCHITECTURE)):
        return
    rows = dict(MODULE_ROW.findall(source_tree.read(root, ARCHITECTURE)))
    for module, below in layout.ARROWS.items():
        there = os.path.isfile(os.path.join(root, "framework", module, "CMakeLists.txt"))
        if there and module not in rows:
            yield f"{ARCHITECTURE}: the module {module} is missing from its table"
        # Modules that are still to come stand neither in the table nor in its arrows.
        known = [name for name in below if name in rows]
        named = re.findall(r"`([\w/]+)`", rows.get(module, ""))
        if module in rows and named != known:
            yield f"{ARCHITECTURE}: {module} is built on {known} in layout.py, not on {named}"
    for module in rows:
        if module not in layout.ARROWS:
            yield f"{ARCHITECTURE}: the module {module} is not in layout.py"


def violations(root):
    for page in pages(root):
        text = source_tree.read(root, page)
        yield from check_snippets(root, page, text)
        yield from check_links(root, page, text)
    yield from check_modules(root)
    yield from readme_commands.violations(root)


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else default))
    print("\n".join(found) if found else "the pages say what is there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
