import unittest

from planted_tree import PlantedTree

import check_dependencies


class CheckDependencies(PlantedTree):
    def found(self):
        return list(check_dependencies.violations(self.root))

    def check_single(self, path, text, *words):
        self.plant(path, text)
        self.assert_finds(self.found(), path, *words)

    def check_clean(self, path, text):
        self.plant(path, text)
        self.assertEqual(self.found(), [])

    def test_an_arrow_that_points_up_is_found_with_its_line(self):
        self.check_single("framework/runtime/gate.cpp", '\n#include "objects/actor.hpp"\n',
                          "gate.cpp:2:", "objects", "runtime")

    def test_an_arrow_between_siblings_is_found(self):
        self.check_single("framework/wire/json.cpp", '#include "runtime/clock.hpp"\n', "runtime")

    def test_an_arrow_that_reaches_through_is_fine(self):
        self.check_clean("framework/objects/join.cpp",
                         '#include "base/log.hpp"\n#include "location/store.hpp"\n')

    def test_a_provider_sees_the_store_interface_and_nothing_else_of_location(self):
        self.check_clean("framework/store/sqlite/provider.cpp",
                         '#include <sqlite3.h>\n\n#include "location/store.hpp"\n')
        self.check_single("framework/store/sqlite/other.cpp", '#include "location/lease.hpp"\n',
                          "location")

    def test_a_public_header_counts_as_part_of_its_module(self):
        self.plant("framework/include/spotmesh/testing/cluster.hpp", "#pragma once\n")
        self.check_single("framework/node/node.cpp", "#include <spotmesh/testing/cluster.hpp>\n",
                          "testing", "node")

    def test_a_public_header_needs_an_owner(self):
        self.check_single("framework/include/spotmesh/stray.hpp", "#pragma once\n",
                          "PUBLIC_HEADERS")

    def test_a_public_header_includes_no_internal_one(self):
        self.check_single("framework/include/spotmesh/error.hpp", '#include "base/log.hpp"\n',
                          "internal")

    def test_a_public_header_includes_no_third_party_but_flatbuffers(self):
        self.check_clean("framework/include/spotmesh/packet.hpp",
                         "#include <flatbuffers/flatbuffers.h>\n")
        self.check_single("framework/include/spotmesh/error.hpp", "#include <fmt/format.h>\n",
                          "third-party", "fmt/format.h")

    def test_the_umbrella_header_is_for_users(self):
        self.check_clean("samples/game/server.cpp", "#include <spotmesh/spotmesh.hpp>\n")
        self.check_single("framework/node/node.cpp", "#include <spotmesh/spotmesh.hpp>\n", "users")

    def test_a_sample_includes_public_headers_only(self):
        self.check_single("samples/game/server.cpp", '#include "objects/join.hpp"\n', "internal")

    def test_a_unit_test_keeps_to_its_module_and_the_simulated_seams(self):
        self.check_clean("tests/unit/runtime/gate_test.cpp",
                         '#include "runtime/gate.hpp"\n#include "testing/sim_clock.hpp"\n')
        self.check_single("tests/unit/runtime/other_test.cpp", '#include "stream/session.hpp"\n',
                          "stream", "tests/unit/runtime")

    def test_third_party_headers_stay_where_they_belong(self):
        for header, path in (
            ("boost/asio.hpp", "framework/stream/session.cpp"),
            ("boost/beast.hpp", "framework/host/host.cpp"),
            ("sqlite3.h", "framework/location/records.cpp"),
            ("hiredis/hiredis.h", "framework/net/links.cpp"),
            ("imgui.h", "tools/cli/main.cpp"),
        ):
            with self.subTest(header=header):
                self.check_single(path, f"#include <{header}>\n", header)
                self.plant(path, "")

    def test_a_third_party_header_without_a_place_is_found(self):
        self.check_clean("framework/net/a.cpp", "#include <sys/epoll.h>\n#include <vector>\n")
        self.check_single("framework/net/b.cpp", "#include <uv.h>\n", "uv.h", "THIRD_PARTY")

    def test_asio_is_allowed_in_net_and_in_admin(self):
        self.check_clean("framework/net/worker.cpp", "#include <boost/asio/io_context.hpp>\n")
        self.check_clean("framework/host/admin_server.cpp", "#include <boost/beast/http.hpp>\n")

    def test_world_free_modules_include_no_world(self):
        for header in ("thread", "random", "fstream", "sys/socket.h", "condition_variable"):
            with self.subTest(header=header):
                self.check_single("framework/node/node.cpp", f"#include <{header}>\n", header)

    def test_world_free_modules_call_no_world(self):
        for call in ("auto t = std::chrono::steady_clock::now();", "std::this_thread::yield();",
                     "std::random_device device;", "std::thread t;", "std::time(nullptr);"):
            with self.subTest(call=call):
                self.check_single("framework/mesh/session.cpp", f"\nvoid f() {{ {call} }}\n",
                                  "session.cpp:2:", "seam")

    def test_the_simulator_is_as_free_of_the_world_but_may_write_files(self):
        self.check_clean("framework/testing/report.cpp", "#include <fstream>\n")
        self.check_single("framework/testing/clock.cpp", "#include <thread>\n", "world")

    def test_comments_and_literals_are_no_calls(self):
        self.check_clean("framework/node/node.cpp",
                         '// std::thread\n/* steady_clock::now() */ auto s = "std::thread";\n'
                         'auto r = R"x(std::random_device)x"; int million = 1\'000\'000;\n')

    def test_mutexes_are_fine(self):
        self.check_clean("framework/runtime/mailbox.cpp", "#include <mutex>\n#include <atomic>\n")


if __name__ == "__main__":
    unittest.main()
