#!/usr/bin/env python3
"""Checks that the compiler refuses each of a source's mistakes, and says why.

    refused.py SOURCE COMPILER [OPTION...]

A mistake of SOURCE stands between `#ifdef NAME  // refused: what is said of it` and `#endif`. The
source compiles without any of them, and with no single one.
"""

# contract: [REG-03] [TURN-11] [YIELD-04]

import re
import subprocess
import sys

MISTAKE = re.compile(r"^#ifdef (\w+)  // refused: (.+)$", re.MULTILINE)


def compile_with(command, options):
    return subprocess.run([*command, *options], capture_output=True, text=True)


def main():
    source, *command = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        mistakes = MISTAKE.findall(file.read())
    if not mistakes:
        print(f"{source}: has no mistakes")
        return 1
    complaints = []
    sound = compile_with(command, [source])
    if sound.returncode != 0:
        complaints.append(f"does not compile without mistakes:\n{sound.stderr}")
    for name, text in mistakes:
        result = compile_with(command, [f"-D{name}", source])
        if result.returncode == 0:
            complaints.append(f"compiles with {name}")
        elif text not in result.stderr:
            complaints.append(f"is refused with {name}, but not with '{text}':\n{result.stderr}")
    for complaint in complaints:
        print(f"{source}: {complaint}")
    print(f"{len(mistakes)} mistakes were tried")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
