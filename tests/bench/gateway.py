#!/usr/bin/env python3
"""Measures the gateway beside plain echo servers: the server on CPU 0, the load on CPU 1.

    gateway.py FOLDER [--baselines DIR] [--runs N] [--secs S] [--only CASE] [--json FILE]

DIR holds asio_codec_echo.cpp and beast_echo.cpp, which are compiled here; without it (nor
SPOTMESH_BASELINES) only the gateway is measured. With DIR/colyseus (server.mjs, matchmake.mjs and
what `npm install` makes there) and DIR/wsload.cpp, which speaks to it, the same echo and broadcast
of a Colyseus room are measured as well. Everything of one case runs in turn, N times, and the
medians are compared: that is what counts on a machine with neighbours.
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile

CASES = {
    "100 x 1": ["--conns", "100"],
    "1000 x 1": ["--conns", "1000"],
    "100 x 16": ["--conns", "100", "--depth", "16"],
}
BASELINES = ("asio_codec_echo", "beast_echo")
COLYSEUS = "colyseus"
# Frames of Colyseus: what a client says when it was let in, and ROOM_DATA_BYTES of the type "e"
# (echo) or "b" (broadcast), as long as the other contenders' messages.
COLYSEUS_JOINED = "0a"
COLYSEUS_MESSAGE = {"echo": "11a165" + 47 * "30", "broadcast": "11a162" + 47 * "30"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(cpu, command):
    return ["taskset", "-c", str(cpu)] + command


def compiled(source, target):
    print(f"  compiling {os.path.basename(source)}", file=sys.stderr)
    subprocess.run([os.environ.get("CXX", "clang++-19"), "-std=c++20", "-O2", "-pthread", source,
                    "-o", target], check=True)
    return target


def wait_until_listening(port, server):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            pass
        try:
            server.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise RuntimeError(f"{server.args} has ended")
    raise RuntimeError(f"nothing listens on {port}")


def end(server):
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(20)
    except subprocess.TimeoutExpired:
        server.kill()


class Colyseus:
    """A room of Colyseus, driven by its own load generator."""

    def __init__(self, baselines, scratch):
        self.folder = os.path.join(baselines, "colyseus")
        self.load = compiled(os.path.join(baselines, "wsload.cpp"), os.path.join(scratch, "wsload"))
        self.paths = os.path.join(scratch, "paths")

    @staticmethod
    def is_there(baselines):
        return (os.path.isdir(os.path.join(baselines, "colyseus", "node_modules"))
                and os.path.exists(os.path.join(baselines, "wsload.cpp"))
                and shutil.which("node") is not None)

    def run(self, mode, connections, depth, secs):
        port = free_port()
        with subprocess.Popen(pinned(0, ["node", "server.mjs", str(port)]), cwd=self.folder,
                              stdout=subprocess.DEVNULL) as server:
            try:
                wait_until_listening(port, server)
                subprocess.run(["node", "matchmake.mjs", str(port), str(connections), self.paths],
                               cwd=self.folder, check=True, timeout=120)
                load = [self.load, "--mode", mode, "--port", str(port), "--pid", str(server.pid),
                        "--paths-file", self.paths, "--depth", str(depth), "--skip-frames", "1",
                        "--ack-hex", COLYSEUS_JOINED, "--payload-hex", COLYSEUS_MESSAGE[mode],
                        "--secs", str(secs)]
                said = subprocess.run(pinned(1, load), check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=180)
            finally:
                end(server)
        figures = json.loads(said.stdout)
        return {"per_s": figures["msgs_per_s"], "per_cpu_s": figures["msgs_per_server_cpu_s"],
                "server_cpu": figures["server_cpu"], "p50_us": figures["p50_us"],
                "p99_us": figures["p99_us"], "bytes_each": 0}


class Bench:
    def __init__(self, folder, options, scratch):
        self.folder = folder
        self.options = options
        self.scratch = scratch
        self.baselines = {}
        for name in BASELINES if options.baselines else ():
            self.baselines[name] = compiled(os.path.join(options.baselines, name + ".cpp"),
                                            os.path.join(scratch, name))
        self.colyseus = None
        if options.baselines and Colyseus.is_there(options.baselines):
            self.colyseus = Colyseus(options.baselines, scratch)

    def server(self, name, port):
        if name in self.baselines:
            return [self.baselines[name], str(port)]
        store = os.path.join(self.scratch, f"store-{port}.db")
        # A load generator is no player: no share is too much for it.
        return [os.path.join(self.folder, "gateway_server"), f"--stream.port={port}",
                "--stream.messages_per_second=0", "--stream.bytes_per_second=0",
                "--node.workers=1", "--log.level=error", "--stream.sessions=20000",
                f"--location.store=sqlite:{store}", "--admin.listen=127.0.0.1:0"]

    def run(self, name, mode, arguments):
        """One run of a server, fresh, under the load."""
        if name == COLYSEUS:
            given = dict(zip(arguments[::2], arguments[1::2]))
            return self.colyseus.run(mode, given["--conns"], given.get("--depth", "1"),
                                     self.options.secs)
        port = free_port()
        with subprocess.Popen(pinned(0, self.server(name, port)),
                              stdout=subprocess.PIPE) as server:
            try:
                server.stdout.readline()  # each of them says one line when it listens
                load = [os.path.join(self.folder, "gateway_load"), mode, "--port", str(port),
                        "--pid", str(server.pid), "--secs", str(self.options.secs)]
                result = subprocess.run(pinned(1, load + arguments), check=True, text=True,
                                        stdout=subprocess.PIPE, timeout=180)
                return json.loads(result.stdout)
            finally:
                end(server)

    def compare(self, case, contenders, arguments):
        """The medians of each contender: {label: figures}."""
        rows = {label: [] for label, _, _ in contenders}
        for _ in range(self.options.runs):
            for label, name, mode in contenders:
                rows[label].append(self.run(name, mode, arguments))
                print(f"  {case}, {label}: {rows[label][-1]['per_s']:.0f} /s", file=sys.stderr)
        return {label: {key: statistics.median(run[key] for run in runs)
                        if isinstance(value, (int, float)) else value
                        for key, value in runs[0].items()}
                for label, runs in rows.items()}

    def all(self):
        others = [(name, name, "plain") for name in self.baselines]
        echo = [("gateway", "gateway", "echo"), ("through an Actor", "gateway", "actor")]
        room = {mode: [(COLYSEUS, COLYSEUS, mode)] if self.colyseus else []
                for mode in COLYSEUS_MESSAGE}
        wanted = lambda case: not self.options.only or case in self.options.only
        measured = {}
        for case, arguments in CASES.items():
            if wanted(case):
                measured[case] = self.compare(case, echo + others + room["echo"], arguments)
        for case, mode, conns in (("broadcast, 100 rooms x 10", "broadcast", "1000"),
                                  ("join, 2000 clients", "join", "2000")):
            if wanted(case):
                measured[case] = self.compare(case, [("gateway", "gateway", mode)]
                                              + room.get(mode, []), ["--conns", conns])
        if wanted("idle, 10000"):
            idle = [("gateway", "gateway", "idle")]
            idle += [(name, name, "plain") for name in self.baselines]
            measured["idle, 10000"] = self.compare(
                "idle, 10000", [(label, name, "idle" if mode == "idle" else "idle_plain")
                                for label, name, mode in idle], ["--conns", "10000"])
        return measured


def ratio(value, base):
    return f"{value / base:.2f}" if base else ""


def table(measured):
    yield ("case", "server", "/s", "/s of CPU", "p50", "p99", "bytes each", "to the first baseline",
           "of CPU")
    for case, rows in measured.items():
        base = next((rows[name] for name in BASELINES if name in rows), None)
        for label, row in rows.items():
            is_idle = case.startswith("idle")
            yield (case, label, f"{row['per_s']:.0f}", f"{row['per_cpu_s']:.0f}",
                   f"{row['p50_us']:.0f} us", f"{row['p99_us']:.0f} us",
                   f"{row['bytes_each']:.0f}" if is_idle else "",
                   ratio(row["per_s"], base["per_s"]) if base else "",
                   ratio(row["per_cpu_s"], base["per_cpu_s"]) if base else "")


def print_table(rows):
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" if i < 2 else f"{cell:>{width}}"
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def measure(folder, options):
    with tempfile.TemporaryDirectory() as scratch:
        return Bench(folder, options, scratch).all()


def add_arguments(parser):
    parser.add_argument("--baselines", default=os.environ.get("SPOTMESH_BASELINES"), metavar="DIR",
                        help="sources of other echo servers to measure the gateway beside")
    parser.add_argument("--runs", type=int, default=3, help="of each, in turn (gateway)")
    parser.add_argument("--secs", type=float, default=3, help="of each run (gateway)")
    parser.add_argument("--only", action="append", metavar="CASE",
                        help="a case of the gateway, such as \"100 x 1\"; may be repeated")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--json", metavar="FILE")
    add_arguments(parser)
    options = parser.parse_args()
    measured = measure(options.folder, options)
    print_table(table(measured))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(measured, file, indent=1)


if __name__ == "__main__":
    main()
