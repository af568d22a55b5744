import unittest

from planted_tree import PlantedTree

import check_style


class CheckStyle(PlantedTree):
    def check_single(self, path, text, *words):
        self.plant(path, text)
        self.assert_finds(check_style.violations(self.root), path, *words)

    def check_clean(self, path, text):
        self.plant(path, text)
        self.assertEqual(list(check_style.violations(self.root)), [])

    def test_long_lines_are_found(self):
        self.check_clean("framework/base/a.cpp", "x" * 100 + "\n")
        self.check_single("framework/base/b.cpp", "\n" + "x" * 101 + "\n", "b.cpp:2:", "101")

    def test_columns_are_counted_in_characters(self):
        self.check_clean("framework/base/a.cpp", "// " + "é" * 97 + "\n")

    def test_long_files_are_found(self):
        self.check_clean("framework/base/a.cpp", "\n" * 500)
        self.check_single("framework/base/b.cpp", "\n" * 501, "501")

    def test_long_headers_are_found(self):
        self.check_single("framework/base/b.hpp", "#pragma once\n" + "\n" * 200, "201")

    def test_a_header_without_a_guard_is_found(self):
        self.check_single("framework/base/b.hpp", "int f();\n", "#pragma once")

    def test_tabs_trailing_space_and_missing_newline_are_found(self):
        self.check_single("tools/a.sh", "\tx\n", "tab")
        self.plant("tools/a.sh", "")
        self.check_single("tools/b.sh", "x \n", "white space")
        self.plant("tools/b.sh", "")
        self.check_single("tools/c.sh", "x", "newline")

    def test_words_are_found_unless_waived_with_a_reason(self):
        word = "TO" + "DO"
        self.check_single("tools/a.sh", f"# {word}: later\n", "later")
        self.plant("tools/a.sh", f"# style: the parser must know it\n# {word}\n")
        self.assertEqual(list(check_style.violations(self.root)), [])

    def test_paths_of_one_machine_are_found(self):
        for path in ("ro" + "ot", "ho" + "me/jo", "wo" + "rk"):
            with self.subTest(path=path):
                self.check_single("tools/a.sh", f"cd /{path}/project\n", "machine")

    def test_sleeps_are_found_in_tests_only(self):
        self.check_clean("framework/net/a.cpp", "std::this_thread::sleep_for(1s);\n")
        self.check_single("tests/unit/net/a.cpp", "std::this_thread::sleep_for(1s);\n", "sleep")
        self.plant("tests/unit/net/a.cpp", "")
        self.check_single("tests/e2e/a.sh", "if x; then sleep 1; fi\n", "sleep")
        self.plant("tests/e2e/a.sh", "")
        self.check_single("samples/game/tests/a.mjs", "new Promise((r) => setTimeout(r, 10));\n",
                          "sleep")

    def test_code_in_a_comment_is_found_and_an_indented_example_is_not(self):
        self.check_clean("framework/base/a.cpp", "//   auto x = f();\n// It calls f(x) once.\n")
        self.check_single("framework/base/b.cpp", "// old_function(x);\n", "comment")

    def test_long_functions_are_found_at_their_first_line(self):
        self.check_clean("framework/base/a.cpp",
                         "int f(int a,\n      int b) {\n" + "  f();\n" * 57 + "}\n")
        self.check_single("framework/base/b.cpp",
                          "namespace x {\n\nint f() {\n" + "  f();\n" * 59 + "}\n\n}\n",
                          "b.cpp:3:", "61")

    def test_long_member_functions_are_found_and_long_classes_are_not(self):
        member = "  void f() {\n" + "    g();\n" * 40 + "  }\n"
        self.check_clean("framework/base/a.cpp", "class A {\n" + member * 2 + "};\n")
        long_member = "  void f() {\n" + "    g();\n" * 60 + "  }\n"
        self.check_single("framework/base/b.cpp", "class A {\n" + long_member + "};\n", "62")

    def test_a_stray_file_at_the_top_level_is_found(self):
        self.plant("docs/x.md", "\n")
        found = list(check_style.violations(self.root))
        self.assertEqual(len(found), 1)
        self.assertIn("top level", found[0])


if __name__ == "__main__":
    unittest.main()
