// The command line: what is right, what is wrong, and with which exit code.
#include "cli/command.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace spotmesh::cli;
using Catch::Matchers::Contains;

namespace {

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

Ran run_with(const std::vector<std::string>& arguments,
             const std::map<std::string, std::string>& variables = {}) {
  const auto environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  std::ostringstream out;
  std::ostringstream err;
  const int code = run(arguments, environment, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace

TEST_CASE("every command has help with an example, on standard output") {
  const std::vector<std::vector<std::string>> commands{
      {},        {"nodes"}, {"actors"},       {"spots"},          {"sessions"},
      {"watch"}, {"why"},   {"why", "actor"}, {"why", "session"}, {"shutdown"}};
  for (auto command : commands) {
    command.push_back("--help");
    const Ran ran = run_with(command);
    CHECK(ran.code == exit_done);
    CHECK_THAT(ran.out, Contains("Example: spotmesh"));
    CHECK(ran.err.empty());
  }
}

TEST_CASE("wrong usage ends with 2, says why on standard error, and asks nobody") {
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"frobnicate"},
                                                    {"actors", "--colour", "red"},
                                                    {"why"},
                                                    {"why", "actor"},
                                                    {"shutdown"},
                                                    {"nodes", "--timeout", "0"},
                                                    {"actors", "--limit", "many"},
                                                    {"nodes", "--admin", "ftp://a"},
                                                    {"nodes", "--token", "a b"},
                                                    {"nodes", "--token-file", "/no/such/file"},
                                                    {"why", "actor", "\xff"}};
  for (const auto& arguments : wrong) {
    const Ran ran = run_with(arguments);
    CHECK(ran.code == exit_usage);
    CHECK_FALSE(ran.err.empty());
    CHECK(ran.out.empty());
  }
}

TEST_CASE("the endpoint comes from the flag, else from the environment") {
  CHECK_THAT(run_with({"nodes"}, {{"SPOTMESH_ADMIN", "ftp://b"}}).err, Contains("ftp://b"));
  CHECK_THAT(run_with({"nodes", "--admin", "ftp://a"}, {{"SPOTMESH_ADMIN", "ftp://b"}}).err,
             Contains("ftp://a"));
}

TEST_CASE("an endpoint that nobody is at ends with 1, and the message names it") {
  const Ran ran = run_with({"nodes", "--admin", "http://127.0.0.1:1"});
  CHECK(ran.code == exit_failure);
  CHECK_THAT(ran.err, Contains("127.0.0.1:1") && Contains("spotmesh: "));
  CHECK(ran.out.empty());
}
