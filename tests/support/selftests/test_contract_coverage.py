import unittest

from planted_tree import PlantedTree

import contract_coverage


class ContractCoverage(PlantedTree):
    def setUp(self):
        super().setUp()
        self.plant("tests/support/contract_ids.txt", "# areas\nJOIN 2\nID 1\n")
        self.plant("tests/support/contract_later.txt", "# none\n")
        self.plant("framework/docs/contract.md", "- **JOIN-01** An Actor joins.\n")

    def complaints(self):
        return contract_coverage.check(self.root)[0]

    def test_a_stated_rule_needs_a_test(self):
        self.assert_finds(self.complaints(), "framework/docs/contract.md", "JOIN-01", "no test")
        self.plant("tests/unit/a.cpp", 'TEST_CASE("joins",\n          "[x][JOIN-01]") {}\n')
        self.assertEqual(self.complaints(), [])

    def test_an_id_in_a_name_or_a_comment_is_no_tag(self):
        self.plant("tests/unit/a.cpp", '// [JOIN-01]\nTEST_CASE("joins [JOIN-01]") {}\n')
        self.assertEqual(len(self.complaints()), 1)

    def test_a_script_carries_an_id_in_its_contract_comment(self):
        self.plant("tests/e2e/a.mjs", "// contract: [JOIN-02] [JOIN-01]\n")
        self.assertEqual(self.complaints(), [])

    def test_unknown_ids_are_found_in_contract_and_tests(self):
        self.plant("framework/docs/contract.md", "- **JOIN-03** No such rule.\n")
        self.plant("tests/unit/a.cpp", 'TEST_CASE("a", "[JOIN-03]") {}\n')
        self.assertEqual(len(self.complaints()), 2)

    def test_a_rule_stated_twice_is_found(self):
        self.plant("framework/docs/contract.md", "- **ID-01** a\n- **ID-01** b\n")
        self.plant("tests/unit/a.cpp", 'TEST_CASE("a", "[ID-01]") {}\n')
        self.assert_finds(self.complaints(), "framework/docs/contract.md", "2 times")

    def test_a_rule_of_the_core_is_stated_or_put_off_with_a_reason(self):
        self.plant("tests/unit/a.cpp", 'TEST_CASE("joins", "[JOIN-01]") {}\n')
        self.plant("tests/support/contract_ids.txt", "JOIN 3 core\nRACE 4 core 2 4\nHOST 1\n")
        complaints = self.complaints()
        self.assertEqual(len(complaints), 4)
        for rule in ("JOIN-02", "JOIN-03", "RACE-02", "RACE-04"):
            self.assert_finds([text for text in complaints if rule in text],
                              "framework/docs/contract.md", "neither stated")
        self.plant("tests/support/contract_later.txt",
                   "JOIN-02 why\nJOIN-03 why\nRACE-02 why not\nRACE-04 because\n")
        self.assertEqual(self.complaints(), [])

    def test_what_is_put_off_is_of_the_core_not_stated_and_has_one_reason(self):
        self.plant("tests/unit/a.cpp", 'TEST_CASE("joins", "[JOIN-01]") {}\n')
        self.plant("tests/support/contract_ids.txt", "JOIN 2 core\nHOST 1\n")
        for later, part in (("JOIN-02\n", "no reason"), ("JOIN-02 why\nJOIN-02 why\n", "twice"),
                            ("JOIN-02 why\nHOST-01 why\n", "no rule of the core"),
                            ("JOIN-02 why\nJOIN-01 why\n", "is stated")):
            self.plant("tests/support/contract_later.txt", later)
            self.assertEqual(len(self.complaints()), 1)
            self.assert_finds(self.complaints(), "tests/support/contract_later.txt", part)

    def test_what_is_not_stated_is_listed(self):
        self.assertEqual(contract_coverage.check(self.root)[2], ["JOIN-02", "ID-01"])
        self.assertEqual(contract_coverage.by_area(["JOIN-01", "JOIN-02", "JOIN-05", "ID-01"]),
                         "JOIN 01-02 05; ID 01")


if __name__ == "__main__":
    unittest.main()
