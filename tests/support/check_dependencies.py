#!/usr/bin/env python3
"""Checks that every include and call keeps to the layers of layout.py.

    check_dependencies.py [ROOT]

Prints one line per violation and exits with 1 if there is any.
"""

import os
import re
import sys

import layout
import source_tree


def closure(module):
    """The module and all that it is built on."""
    reached = {module}
    for below in layout.ARROWS[module]:
        reached |= closure(below)
    return reached


CLOSURES = {module: closure(module) for module in layout.ARROWS}
PUBLIC_PREFIX = "framework/include/"
OWNER_OF_PUBLIC = {
    f"spotmesh/{name}.hpp": owner
    for owner, names in layout.PUBLIC_HEADERS.items()
    for name in names
}


def module_of(path):
    """The framework module that a path relative to framework/ lies in, or None."""
    parts = path.split("/")
    for length in (2, 1):
        if len(parts) > length and "/".join(parts[:length]) in layout.ARROWS:
            return "/".join(parts[:length])
    return None


def owner_of_public(header):
    """The module a public header belongs to: "" for the umbrella header, None if unknown."""
    if header == "spotmesh/spotmesh.hpp":
        return ""
    for module in ("testing", "client"):
        if header.startswith(f"spotmesh/{module}/"):
            return module
    return OWNER_OF_PUBLIC.get(header)


class Place:
    """What a file may include of the framework, by where it lies."""

    def __init__(self, path):
        self.path = path
        self.world_free = False
        self.modules = set()  # whose headers it may include
        self.seams = []
        self.public_only = False
        self.name = path
        parts = path.split("/")
        if path.startswith(PUBLIC_PREFIX):
            self._public_header(path[len(PUBLIC_PREFIX):])
        elif parts[0] == "framework":
            self._module(module_of("/".join(parts[1:])))
        elif parts[0] == "tools" and len(parts) > 2:
            self.name = f"tools/{parts[1]}"
            for module in layout.TOOLS.get(parts[1], []):
                self.modules |= CLOSURES[module]
        elif parts[0] == "samples":
            self.name = "a sample"
            self.public_only = True
            self.modules = set(layout.ARROWS)
        elif parts[:2] == ["tests", "unit"] and len(parts) > 3:
            self._unit_test(parts[2])
        else:
            self.modules = set(layout.ARROWS)

    def _module(self, module):
        if module is None:
            return
        self.name = module
        self.modules = CLOSURES[module]
        self.seams = layout.SEAMS.get(module, [])
        self.world_free = module in layout.WORLD_FREE

    def _public_header(self, header):
        owner = owner_of_public(header)
        self.name = f"<{header}>"
        self.public_only = True
        self.modules = CLOSURES[owner] if owner else set(layout.ARROWS)
        self.world_free = owner in layout.WORLD_FREE

    def _unit_test(self, folder):
        by_folder = {module.replace("/", "_"): module for module in layout.ARROWS}
        by_folder.update({tool: None for tool in layout.TOOLS})
        self.name = f"tests/unit/{folder}"
        module = by_folder.get(folder)
        if module:
            # A unit test runs its module on simulated seams, which lie in testing/.
            self.modules = CLOSURES[module] | {"testing"}
            self.seams = layout.SEAMS.get(module, [])
        else:
            for below in layout.TOOLS.get(folder, []):
                self.modules |= CLOSURES[below]


def matches(name, prefixes):
    """Whether a header is one of these; only prefixes that end with a slash match more."""
    return any(name == prefix or (prefix.endswith("/") and name.startswith(prefix))
               for prefix in prefixes)


def check_framework_include(place, name):
    """A complaint about including a header of the framework, or None."""
    if name.startswith("spotmesh/"):
        owner = owner_of_public(name)
        if owner is None:
            return f"<{name}> has no owner in PUBLIC_HEADERS of tests/support/layout.py"
        if owner == "" and place.path.startswith("framework/"):
            return "<spotmesh/spotmesh.hpp> is for users, not for the framework itself"
        if owner and owner not in place.modules:
            return f"<{name}> belongs to {owner}, which {place.name} is not built on"
        return None
    module = module_of(name)
    if module is None:
        return None
    if place.public_only:
        return f"{name} is internal to {module}; {place.name} may include <spotmesh/…> only"
    if module not in place.modules and name not in place.seams:
        return f"{name} belongs to {module}, which {place.name} is not built on"
    return None


def third_party_prefix(name):
    for prefix in layout.THIRD_PARTY:
        if name.startswith(prefix):
            return prefix
    return None


def check_third_party(place, name, bracket):
    prefix = third_party_prefix(name)
    if prefix is None:
        foreign = bracket == "<" and ("/" in name or "." in name)
        if foreign and not name.startswith("spotmesh/") and not matches(
                name, layout.SYSTEM_HEADERS):
            return f"<{name}> has no place in THIRD_PARTY of tests/support/layout.py"
        return None
    if place.path.startswith(PUBLIC_PREFIX):
        if prefix not in layout.PUBLIC_THIRD_PARTY:
            return f"public header includes the third-party header {name}"
        return None
    if not place.path.startswith(tuple(layout.THIRD_PARTY[prefix])):
        return f"{name} may be included only below {', '.join(layout.THIRD_PARTY[prefix])}"
    return None


def check_world_header(place, name):
    simulated = place.path.startswith("framework/testing/")
    if (place.world_free or simulated) and matches(name, layout.WORLD_HEADERS):
        return f"<{name}> touches the world; {place.name} reaches it through its seams"
    if place.world_free and matches(name, layout.FILE_HEADERS):
        return f"<{name}> touches files; {place.name} reaches the world through its seams"
    return None


def check_calls(place, text):
    if not place.world_free and not place.path.startswith("framework/testing/"):
        return
    code = source_tree.code_of(text)
    for what, pattern in layout.WORLD_CALLS.items():
        for match in re.finditer(pattern, code):
            line = code.count("\n", 0, match.start()) + 1
            yield line, f"{match.group(0)} is {what} of its own; use the seam that was handed down"


def violations(root):
    """Yields "path:line: complaint"."""
    for path in source_tree.files(root, suffixes=source_tree.CPP):
        text = source_tree.read(root, path)
        place = Place(path)
        if path.startswith(PUBLIC_PREFIX) and owner_of_public(path[len(PUBLIC_PREFIX):]) is None:
            yield f"{path}:1: has no owner in PUBLIC_HEADERS of tests/support/layout.py"
            continue
        for line, bracket, name in source_tree.includes_of(text):
            for complaint in (check_framework_include(place, name),
                              check_third_party(place, name, bracket),
                              check_world_header(place, name)):
                if complaint:
                    yield f"{path}:{line}: {complaint}"
        for line, complaint in check_calls(place, text):
            yield f"{path}:{line}: {complaint}"


def main():
    default = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(violations(sys.argv[1] if len(sys.argv) > 1 else default))
    print("\n".join(found) if found else "every include keeps to its layer")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
