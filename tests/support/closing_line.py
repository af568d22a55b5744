#!/usr/bin/env python3
"""Prints how a ctest run ended, as "N passed, N failed", from its JUnit report.

A test that was skipped or disabled has not passed, and counts as failed. A run without tests, or
without a readable report, fails.
"""

import sys
import xml.etree.ElementTree as ElementTree


def count(report):
    """Returns (passed, names of those that did not pass)."""
    suite = ElementTree.parse(report).getroot()
    cases = suite.findall("testcase")
    failed = [case.get("name") for case in cases if case.get("status") != "run"]
    return len(cases) - len(failed), failed


def main():
    try:
        passed, failed = count(sys.argv[1])
    except (OSError, ElementTree.ParseError) as error:
        print(f"no report of the test run: {error}")
        passed, failed = 0, ["the run itself"]
    if not passed and not failed:
        print("no test was selected")
    for name in failed:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failed)} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
