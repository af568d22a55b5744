import unittest

from planted_tree import PlantedTree

import check_docs
import readme_commands


class CheckDocs(PlantedTree):
    def check_single(self, path, text, *words):
        self.plant(path, text)
        self.assert_finds(check_docs.violations(self.root), path, *words)

    def test_a_quotation_must_stand_in_its_file(self):
        page = "<!-- from framework/a.cpp -->\n```cpp\nint a;\n```\n"
        self.check_single("framework/docs/a.md", page, "framework/a.cpp", "exist")
        self.plant("framework/a.cpp", "int b;\n")
        self.check_single("framework/docs/a.md", page, "any more")
        self.plant("framework/a.cpp", "int b;\nint a;\n")
        self.assertEqual(list(check_docs.violations(self.root)), [])

    def test_links_lead_somewhere(self):
        page = "[x](b.md#part) [y](https://example.org)\n"
        self.check_single("framework/docs/a.md", page, "b.md")
        self.plant("framework/docs/b.md", "![x](../../assets/p.svg)\n")
        self.assert_finds(check_docs.violations(self.root), "framework/docs/b.md", "assets/p.svg")

    def test_links_in_code_are_no_links(self):
        self.plant("framework/docs/a.md", "```cpp\nauto f = [](int) {};\n```\n")
        self.assertEqual(list(check_docs.violations(self.root)), [])

    def test_the_table_of_modules_has_the_enforced_arrows(self):
        page = "framework/docs/architecture.md"
        rows = ("| `base` | ids | |\n| `runtime` | turns | `base` |\n"
                "| `wire` | codecs | `runtime` |\n")
        self.check_single(page, rows, "wire", "base")

    def test_the_table_has_every_module_that_exists(self):
        self.plant("framework/mesh/CMakeLists.txt", "")
        self.check_single("framework/docs/architecture.md", "| `base` | ids | |\n", "mesh")

    def test_every_command_of_the_readme_is_run_somewhere(self):
        self.plant("README.md", "```sh\n./a.sh --fast   # quick\n./b.sh\n./c.sh\n```\n")
        self.plant(".ci/run", "./a.sh --fast\n")
        run_by = {"./a.sh --fast": (".ci/run", "./a.sh --fast"), "./b.sh": (".ci/run", "./b.sh")}
        found = list(readme_commands.violations(self.root, run_by))
        self.assertEqual(len(found), 2)
        self.assertIn("`./b.sh` should be run by .ci/run", found[0])
        self.assertIn("nothing runs `./c.sh`", found[1])


if __name__ == "__main__":
    unittest.main()
