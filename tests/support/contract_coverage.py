#!/usr/bin/env python3
"""Checks that every rule the contract states is carried by a test.

    contract_coverage.py [ROOT]

framework/docs/contract.md states rules as list items that begin with their id in bold, and
contract_ids.txt names all ids there will be. A test carries an id as a Catch2 tag; a script test
carries it in a comment "contract: [ID]". Fails on a stated rule without a test, an id that does
not exist, a rule stated twice, and a rule of the core that is not stated, unless contract_later.txt
says why; lists what is not stated yet.
"""

import os
import re
import sys

import source_tree

STATED = re.compile(r"^\s*[-*] \*\*([A-Z]+-\d+)\*\*", re.MULTILINE)
TAGGED_CASE = re.compile(
    r"\b(?:TEST_CASE|SCENARIO|TEST_CASE_METHOD|TEMPLATE_TEST_CASE)\s*"
    r'\(((?:[^()"]|"(?:\\.|[^"\\])*")*)')
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
ID_TAG = re.compile(r"\[([A-Z]+-\d+)\]")
SCRIPT_TAG = re.compile(r"contract: ((?:\[[A-Z]+-\d+\]\s*)+)")
CONTRACT = "framework/docs/contract.md"
IDS = "tests/support/contract_ids.txt"
LATER = "tests/support/contract_later.txt"


def lines_of(root, path):
    lines = source_tree.read(root, path).splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def all_ids(root):
    """Returns (every id, those of the core), both in the order of the file."""
    ids, core = [], []
    for area, count, *marks in lines_of(root, IDS):
        numbers = range(1, int(count) + 1)
        ids += [f"{area}-{number:02}" for number in numbers]
        if marks[:1] == ["core"]:
            core += [f"{area}-{int(number):02}" for number in marks[1:] or numbers]
    return ids, core


def check_core(root, core, stated):
    """What keeps the core from being stated as a whole, but for what is put off with a reason."""
    complaints, later = [], set()
    for rule, *reason in lines_of(root, LATER):
        if not reason:
            complaints.append(f"{LATER}: {rule} has no reason")
        if rule in later:
            complaints.append(f"{LATER}: {rule} is there twice")
        if rule not in core:
            complaints.append(f"{LATER}: {rule} is no rule of the core in {IDS}")
        if rule in stated:
            complaints.append(f"{LATER}: {rule} is stated in {CONTRACT} and not to come any more")
        later.add(rule)
    for rule in core:
        if rule not in stated and rule not in later:
            complaints.append(f"{CONTRACT}: {rule} is of the core, and is neither stated nor put "
                              f"off in {LATER}")
    return complaints


def tags_in(path, text):
    """The ids that the tests of one file carry."""
    found = set()
    if path.endswith(source_tree.CPP):
        for case in TAGGED_CASE.finditer(text):
            # The name comes first, the tags are in the last literal.
            literals = LITERAL.findall(case.group(1))
            for literal in literals[1:]:
                found |= set(ID_TAG.findall(literal))
    for comment in SCRIPT_TAG.findall(text):
        found |= set(ID_TAG.findall(comment))
    return found


def carried_ids(root):
    """Maps each id to the files whose tests carry it."""
    carried = {}
    suffixes = (".cpp", ".hpp", ".sh", ".js", ".mjs", ".ts", ".py")
    for path in source_tree.files(root, ("tests", "samples"), suffixes):
        if path.startswith("tests/support/"):
            continue
        for rule in tags_in(path, source_tree.read(root, path)):
            carried.setdefault(rule, []).append(path)
    return carried


def check(root):
    """Returns (complaints, stated ids, ids not stated yet, carried ids)."""
    known, core = all_ids(root)
    stated = STATED.findall(source_tree.read(root, CONTRACT))
    carried = carried_ids(root)
    complaints = check_core(root, core, stated)
    for rule in sorted(set(stated)):
        if stated.count(rule) > 1:
            complaints.append(f"{CONTRACT}: {rule} is stated {stated.count(rule)} times")
        if rule not in known:
            complaints.append(f"{CONTRACT}: {rule} is not in {IDS}")
        if rule not in carried:
            complaints.append(f"{CONTRACT}: {rule} is stated and no test carries [{rule}]")
    for rule, paths in sorted(carried.items()):
        if rule not in known:
            complaints.append(f"{paths[0]}: [{rule}] is not in {IDS}")
    return complaints, stated, [rule for rule in known if rule not in stated], carried


def by_area(rules):
    """JOIN-01, JOIN-02 and JOIN-05 as "JOIN 01-02 05"."""
    areas = {}
    for rule in rules:
        area, number = rule.split("-")
        spans = areas.setdefault(area, [])
        if spans and int(number) == int(spans[-1][1]) + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return "; ".join(
        " ".join([area] + [first if first == last else f"{first}-{last}" for first, last in spans])
        for area, spans in areas.items())


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    complaints, stated, missing, carried = check(sys.argv[1] if len(sys.argv) > 1 else default)
    for complaint in complaints:
        print(complaint)
    print(f"{len(stated)} rules are stated, {len(carried)} are carried by tests")
    print(f"not stated yet: {by_area(missing) or 'none'}")
    unstated = [rule for rule in missing if rule in carried]
    if unstated:
        print(f"carried by a test and not stated yet: {by_area(unstated)}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
