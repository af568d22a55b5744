import os
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")


class RunScript(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run(["bash", "tests/run.sh", *arguments], cwd=ROOT, text=True,
                              capture_output=True, check=False)

    def test_wrong_usage_is_named_and_exits_with_2(self):
        for arguments, words in ((["--fast"], "--fast"), (["--sanitize", "memory"], "memory"),
                                 (["--only"], "--only")):
            with self.subTest(arguments=arguments):
                result = self.run_script(*arguments)
                self.assertEqual(result.returncode, 2)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_help_tells_every_option(self):
        result = self.run_script("--help")
        self.assertEqual(result.returncode, 0)
        for option in ("--only", "--sanitize address", "--sanitize thread", "--list"):
            self.assertIn(option, result.stdout)


if __name__ == "__main__":
    unittest.main()
