#!/usr/bin/env python3
"""Checks that clang-format has nothing to say.

    check_format.py [--fix]

--fix formats in place instead.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import source_tree

FORMATTER = "clang-format-19"


def run(root, paths, fix):
    options = ["-i"] if fix else ["--dry-run", "-Werror"]
    return subprocess.run([FORMATTER, *options, *paths], cwd=root, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def main():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    paths = list(source_tree.files(root, suffixes=source_tree.CPP))
    batches = [paths[start:start + 20] for start in range(0, len(paths), 20)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda batch: run(root, batch, "--fix" in sys.argv), batches))
    for result in results:
        sys.stdout.write(result.stdout)
    if any(result.returncode for result in results):
        print("run tests/support/check_format.py --fix")
        return 1
    print(f"{len(paths)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
