import os
import unittest

from planted_tree import PlantedTree

import closing_line


class ClosingLine(PlantedTree):
    def count(self, *statuses):
        cases = "".join(f'<testcase name="{index}" status="{status}"/>'
                        for index, status in enumerate(statuses))
        self.plant("report.xml", f"<testsuite>{cases}</testsuite>")
        return closing_line.count(os.path.join(self.root, "report.xml"))

    def test_only_a_test_that_ran_and_did_not_fail_has_passed(self):
        self.assertEqual(self.count("run", "fail", "run", "notrun", "disabled"),
                         (2, ["1", "3", "4"]))

    def test_no_tests_are_no_passes(self):
        self.assertEqual(self.count(), (0, []))


if __name__ == "__main__":
    unittest.main()
