#!/usr/bin/env python3
"""Runs the benchmark executables of a folder and prints one table of what they measured.

    report.py FOLDER [NAME…] [--json FILE] [--baselines DIR]

The gateway is measured by gateway.py, from outside, and has a table of its own.
"""

import argparse
import glob
import json
import os
import subprocess
import sys

import gateway

PREFIX = "bench_"


def run(executable):
    """The figures of one executable."""
    result = subprocess.run([executable, "--benchmark_format=json"], text=True, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(result.stdout)


def as_time(nanoseconds):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.3g} ns"


def as_rate(per_second):
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_second >= size:
            return f"{per_second / size:.3g} {unit}/s"
    return f"{per_second:.3g} /s"


def memory_of(entry):
    if "bytes_per_actor" not in entry:
        return ""
    heap = f"{entry['bytes_per_actor']:.0f} B of heap an Actor"
    if "resident_per_actor" not in entry:
        return heap
    return f"{heap}, {entry['resident_per_actor']:.0f} B resident"


def rows_of(name, figures):
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    for entry in figures["benchmarks"]:
        rate = entry.get("items_per_second")
        yield (f"{name}: {entry['name']}",
               as_time(entry["real_time"] * scale[entry["time_unit"]]),
               as_rate(rate) if rate else "",
               memory_of(entry))


def print_rows(measured):
    rows = [("benchmark", "per round", "items", "memory")]
    for name, figures in measured.items():
        rows += rows_of(name, figures)
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        print(f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}"
              f"  {row[3]:>{widths[3]}}".rstrip())


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh")
    parser.add_argument("folder", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--json", metavar="FILE")
    gateway.add_arguments(parser)
    options = parser.parse_args()

    there = {os.path.basename(path)[len(PREFIX):]: path
             for path in sorted(glob.glob(os.path.join(options.folder, PREFIX + "*")))}
    from_outside = {"gateway"} if os.path.exists(
        os.path.join(options.folder, "gateway_server")) else set()
    unknown = [name for name in options.names if name not in there.keys() | from_outside]
    if unknown or not (there or from_outside):
        print(f"no benchmark {', '.join(unknown)}; there are: "
              f"{', '.join([*there, *from_outside]) or 'none'}", file=sys.stderr)
        return 2

    wanted = options.names or [*there, *from_outside]
    measured = {name: run(there[name]) for name in wanted if name in there}
    if measured:
        print_rows(measured)
    if from_outside & set(wanted):
        measured["gateway"] = gateway.measure(options.folder, options)
        gateway.print_table(gateway.table(measured["gateway"]))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(measured, file, indent=2)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
