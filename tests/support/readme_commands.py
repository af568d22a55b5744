"""Which test or CI step runs each command that README.md tells its reader to type."""

import os
import re

import source_tree

# Command: the file that runs it, and the text in there that does.
SAMPLE_TEST = "tests/e2e/tictactoe_servers/sample.test.mjs"
RUN_BY = {
    "./samples/run.sh tictactoe": (SAMPLE_TEST, "runSample('tictactoe', '--port', '0', '--nodes'"),
    "./samples/run.sh tictactoe --host 0.0.0.0": (SAMPLE_TEST, "'--host', '0.0.0.0'"),
    "./samples/new.sh checkers": (SAMPLE_TEST, "begin('checkers')"),
    "./samples/run.sh checkers": (SAMPLE_TEST, "['checkers', '--port', '0']"),
    "./samples/run.sh tictactoe --nodes 3": (SAMPLE_TEST, "'--nodes', '3')"),
    "./samples/run.sh tictactoe --nodes 3 --store redis": (
        SAMPLE_TEST, "'--nodes', '3', '--store', 'redis')"),
    "./samples/run.sh tictactoe --demo": (".ci/run", "./samples/run.sh tictactoe --demo\n"),
    "./tests/run.sh": (".ci/run", "run_tests ./tests/run.sh\n"),
    "./tests/run.sh --sanitize address": (".ci/run", "run_tests ./tests/run.sh --sanitize address"),
    "./tests/run.sh --sanitize thread": (".ci/run", "run_tests ./tests/run.sh --sanitize thread"),
    "./tests/bench/run.sh": (".ci/run", "run_command ./tests/bench/run.sh\n"),
}

SH_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands_in(text):
    """The commands in the "sh" blocks of a page, without comments and prompts."""
    for block in SH_BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+#.*$", "", line).strip()
            if command and not command.startswith("#"):
                yield " ".join(command.split())


def violations(root, run_by=None):
    run_by = RUN_BY if run_by is None else run_by
    if not os.path.isfile(os.path.join(root, "README.md")):
        return
    for command in commands_in(source_tree.read(root, "README.md")):
        if command not in run_by:
            yield f"README.md: nothing runs `{command}`; see tests/support/readme_commands.py"
            continue
        path, needle = run_by[command]
        there = os.path.isfile(os.path.join(root, path))
        if not there or needle not in source_tree.read(root, path):
            yield f"README.md: `{command}` should be run by {path}, and is not"
