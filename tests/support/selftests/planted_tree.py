"""A throw-away source tree with planted files, for the self-tests of the checks."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


class PlantedTree(unittest.TestCase):
    def setUp(self):
        self._directory = tempfile.TemporaryDirectory()
        self.addCleanup(self._directory.cleanup)
        self.root = self._directory.name

    def plant(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def assert_finds(self, found, path, *words):
        """There is exactly one complaint, about that path, and it has all the words."""
        found = list(found)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(path), found[0])
        for word in words:
            self.assertIn(word, found[0])
