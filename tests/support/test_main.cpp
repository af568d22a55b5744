// The main of every Catch2 executable. Besides running tests it can write them down for ctest, one
// entry per test case, so that each is chosen, timed, limited and counted on its own.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace {

/// The name as a test specification that selects exactly this case.
std::string as_specification(std::string_view name) {
  std::string escaped;
  for (const char character : name) {
    if (std::string_view{"\\,[]*~\""}.find(character) != std::string_view::npos) escaped += '\\';
    escaped += character;
  }
  return escaped;
}

/// A CMake bracket argument: nothing inside it is expanded or split.
std::string bracketed(std::string_view text) { return "[==[" + std::string{text} + "]==]"; }

bool is_hidden(const Catch::TestCase& test) {
  return (test.properties & Catch::TestCaseInfo::IsHidden) != 0;
}

/// Writes `spotmesh_ctest_case(name specification)` for every visible case.
int write_cases(const char* path, Catch::Session& session) {
  std::ofstream file{path, std::ios::trunc};
  for (const auto& test : Catch::getAllTestCasesSorted(session.config())) {
    if (is_hidden(test)) continue;
    std::string name = test.name;
    for (const auto& tag : test.tags) name += " [" + tag + "]";
    file << "spotmesh_ctest_case(" << bracketed(name) << ' '
         << bracketed(as_specification(test.name)) << ")\n";
  }
  file.flush();
  if (!file) std::cerr << "cannot write the list of test cases to " << path << '\n';
  return file ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  Catch::Session session;
  if (argc == 3 && std::string_view{argv[1]} == "--write-cases") {
    return write_cases(argv[2], session);
  }
  return session.run(argc, argv);
}
