#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <string>

#include <spotmesh/settings.hpp>

using spotmesh::ConfigurationError;
using spotmesh::Settings;
using namespace std::chrono_literals;

namespace {

// A configuration file that is gone with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    std::string pattern = std::filesystem::temp_directory_path() / "settings-XXXXXX";
    const int descriptor = mkstemp(pattern.data());
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path_ = pattern;
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string message_of(auto&& action) {
  try {
    action();
  } catch (const ConfigurationError& error) {
    return error.what();
  }
  return "nothing was refused";
}

constexpr Settings::Range port_range{0, 65535};

}  // namespace

TEST_CASE("a flag outranks the environment, which outranks the file, which outranks the default") {
  const TemporaryFile file("[stream]\nport = 1\nhost = \"from-file\"\n[log]\nlevel = \"info\"\n");
  Settings settings({"--config=" + file.path(), "--stream.port=3"},
                    {{"SPOTMESH_STREAM_PORT", "2"}, {"SPOTMESH_STREAM_HOST", "from-env"}});
  CHECK(settings.integer("stream.port", 0, port_range, "port") == 3);
  CHECK(settings.text("stream.host", "default", "host") == "from-env");
  CHECK(settings.choice("log.level", "debug", {"debug", "info"}, "level") == "info");
  CHECK(settings.boolean("stream.open", true, "open"));
  CHECK_NOTHROW(settings.check());
  const std::string effective = settings.effective();
  CHECK(effective.find("port = 3  # --stream.port") != std::string::npos);
  CHECK(effective.find("host = \"from-env\"  # SPOTMESH_STREAM_HOST") != std::string::npos);
  CHECK(effective.find("level = \"info\"  # " + file.path() + ":5") != std::string::npos);
  CHECK(effective.find("open = true  # default") != std::string::npos);
}

TEST_CASE("a value out of range names file, line, value and what is allowed") {
  const TemporaryFile file("[stream]\nport = 70000\n");
  Settings settings({"--config=" + file.path()}, {});
  CHECK(message_of([&] { settings.integer("stream.port", 0, port_range, "port"); }) ==
        file.path() +
            ":2: stream.port = '70000' is not allowed; allowed: an integer from 0 to 65535");
}

TEST_CASE("a value of the wrong type is refused") {
  const TemporaryFile file("[a]\nport = \"80\"\nflag = 1\nwait = 5\nlist = \"x\"\nname = 3\n");
  Settings settings({"--config=" + file.path()}, {});
  CHECK_THROWS_AS(settings.integer("a.port", 0, port_range, ""), ConfigurationError);
  CHECK_THROWS_AS(settings.boolean("a.flag", false, ""), ConfigurationError);
  CHECK_THROWS_AS(settings.duration("a.wait", 1s, {0ms, 10s}, ""), ConfigurationError);
  CHECK_THROWS_AS(settings.texts("a.list", {}, ""), ConfigurationError);
  CHECK_THROWS_AS(settings.text("a.name", "", ""), ConfigurationError);
}

TEST_CASE("durations carry a unit and keep to their range") {
  Settings settings({"--a.x=250ms", "--a.y=2h", "--a.z=5", "--a.w=99999999999999999h", "--a.v=30s"},
                    {});
  CHECK(settings.duration("a.x", 1s, {1ms, 1h}, "") == 250ms);
  CHECK(settings.duration("a.y", 1s, {1ms, 2h}, "") == 2h);
  CHECK_THROWS_AS(settings.duration("a.z", 1s, {1ms, 1h}, ""), ConfigurationError);
  CHECK_THROWS_AS(settings.duration("a.w", 1s, {1ms, 1h}, ""), ConfigurationError);
  CHECK(message_of([&] { settings.duration("a.v", 1s, {1ms, 20s}, ""); }).find("from 1ms to 20s") !=
        std::string::npos);
}

TEST_CASE("what nobody declared stops the start, with a suggestion") {
  const TemporaryFile file("[stream]\nprot = 1\n");
  Settings from_file({"--config=" + file.path()}, {});
  from_file.integer("stream.port", 0, port_range, "");
  CHECK(message_of([&] { from_file.check(); }) ==
        file.path() + ":2: there is no setting 'stream.prot'; did you mean 'stream.port'?");
  Settings from_environment({}, {{"SPOTMESH_STREAM_PROT", "1"}, {"PATH", "/bin"}});
  from_environment.integer("stream.port", 0, port_range, "");
  CHECK(message_of([&] { from_environment.check(); }).find("SPOTMESH_STREAM_PORT") !=
        std::string::npos);
  Settings from_flag({"--nonsense.key=1"}, {});
  CHECK(message_of([&] { from_flag.check(); }).find("'nonsense.key'") != std::string::npos);
}

TEST_CASE("a broken file, a missing file and a malformed flag are named") {
  const TemporaryFile file("[stream]\nport = = 1\n");
  CHECK(message_of([&] { Settings({"--config=" + file.path()}, {}); }).find(file.path() + ":2:") ==
        0);
  const TemporaryFile odd("[stream]\nport = 1\n\n[:x]\nport = 2\n");
  CHECK(message_of([&] { Settings({"--config=" + odd.path()}, {}); }).find(odd.path() + ":4:") ==
        0);
  const TemporaryFile pound("port = 1 \u00a3\n");
  CHECK(message_of([&] {
          Settings({"--config=" + pound.path()}, {});
        }).find(pound.path() + ":1:") == 0);
  CHECK(message_of([] { Settings({"--config=missing.toml"}, {}); }) ==
        "the configuration file 'missing.toml' does not exist");
  CHECK(message_of([] { Settings({"--config=/dev"}, {}); }) ==
        "the configuration file '/dev' is no file that can be read");
  CHECK_THROWS_AS(Settings({"stream.port=1"}, {}), ConfigurationError);
  CHECK_THROWS_AS(Settings({"--stream.port"}, {}), ConfigurationError);
  CHECK_THROWS_AS(Settings({"--a.b=1", "--a.b=2"}, {}), ConfigurationError);
}

TEST_CASE("lists come as arrays in the file and separated by commas elsewhere") {
  const TemporaryFile file("[a]\nlist = [\"x\", \"y\"]\n");
  Settings settings({"--config=" + file.path(), "--a.other=p,q"}, {});
  CHECK(settings.texts("a.list", {}, "") == std::vector<std::string>{"x", "y"});
  CHECK(settings.texts("a.other", {}, "") == std::vector<std::string>{"p", "q"});
}

TEST_CASE("a key that stands in the file under two spellings is refused") {
  const TemporaryFile file("[stream]\nport = 1\n[other]\nx = 1\n");
  const TemporaryFile twice("\"stream.port\" = 2\n[stream]\nport = 1\n");
  CHECK_NOTHROW(Settings({"--config=" + file.path()}, {}));
  CHECK_THAT(message_of([&] { Settings({"--config=" + twice.path()}, {}); }),
             Catch::EndsWith("'stream.port' stands in the file twice"));
}

TEST_CASE("a text that no file could hold is refused wherever it comes from") {
  CHECK(message_of([] { Settings({"--a.b=\xff"}, {}); }) == "--a.b: the value is not UTF-8");
  CHECK(message_of([] { Settings({}, {{"SPOTMESH_A_B", "\xc3"}}); }) ==
        "SPOTMESH_A_B: the value is not UTF-8");
  CHECK_NOTHROW(Settings({}, {{"PATH", "\xff"}}));
}

TEST_CASE("effective settings are a file that gives the same values again") {
  const std::string odd = "tab\t quote\" backslash\\ line\n delete\x7f \u00e9";
  Settings settings({"--a.text=" + odd}, {});
  CHECK(settings.text("a.text", "", "") == odd);
  const TemporaryFile file(settings.effective());
  Settings again({"--config=" + file.path()}, {});
  CHECK(again.text("a.text", "", "") == odd);
}

TEST_CASE("a text that is not allowed names file, line, value and what is allowed") {
  const TemporaryFile file("[node]\nprefix = \"a b\"\n");
  Settings settings({"--config=" + file.path()}, {});
  const auto read = [&] {
    settings.text(
        "node.prefix", "node", [](std::string_view text) { return text.find(' ') == text.npos; },
        "a text without spaces", "prefix");
  };
  CHECK(message_of(read) == file.path() +
                                ":2: node.prefix = 'a b' is not allowed; allowed: a text without "
                                "spaces");
}

TEST_CASE("a secret comes from its variable or its file, and is shown nowhere") {
  const std::string secret = "a-secret-of-24-characters";
  const bool is_in_file = GENERATE(false, true);
  const TemporaryFile file(secret + GENERATE("", "\n", "\r\n"));
  Settings settings(is_in_file ? std::vector<std::string>{"--admin.token_file=" + file.path()}
                               : std::vector<std::string>{},
                    is_in_file ? Settings::Environment{}
                               : Settings::Environment{{"SPOTMESH_ADMIN_TOKEN", secret}});
  CHECK(settings.secret("admin.token", "a token") == secret);
  CHECK_NOTHROW(settings.check());
  CHECK(settings.effective().find(secret) == std::string::npos);
  CHECK(settings.effective().find(is_in_file ? "token = \"(not shown)\"  # --admin.token_file"
                                             : "token = \"(not shown)\"  # SPOTMESH_ADMIN_TOKEN") !=
        std::string::npos);
  CHECK(settings.help().find(secret) == std::string::npos);
}

TEST_CASE("a secret that is unfit, twice there, or where others read it, is refused unshown") {
  const std::string secret = "a-secret-of-24-characters";
  const TemporaryFile right(secret);
  const TemporaryFile two_lines(secret + "\n\n");
  const TemporaryFile huge(std::string(8192, 'x'));
  const TemporaryFile settings_file("[admin]\ntoken = \"" + secret + "\"\n");
  const auto refusal = [&](const std::vector<std::string>& flags, Settings::Environment given) {
    const std::string message = message_of([&] {
      Settings settings(flags, std::move(given));
      settings.secret("admin.token", "a token");
    });
    CHECK(message.find(secret) == std::string::npos);
    return message;
  };
  using Catch::Matchers::Contains;
  CHECK(refusal({}, {}) == "nothing was refused");
  CHECK_THAT(refusal({"--admin.token=" + secret}, {}), Contains("--admin.token") &&
                                                           Contains("admin.token_file") &&
                                                           Contains("SPOTMESH_ADMIN_TOKEN"));
  CHECK_THAT(refusal({"--config=" + settings_file.path()}, {}),
             Contains(settings_file.path() + ":2"));
  CHECK_THAT(refusal({"--admin.token_file=" + right.path()}, {{"SPOTMESH_ADMIN_TOKEN", secret}}),
             Contains("both set"));
  CHECK_THAT(refusal({"--admin.token_file=/nowhere"}, {}), Contains("'/nowhere'"));
  CHECK_THAT(refusal({"--admin.token_file=/tmp"}, {}), Contains("'/tmp'"));
  CHECK_THAT(refusal({"--admin.token_file=" + huge.path()}, {}), Contains("too long"));
  CHECK_THAT(refusal({"--admin.token_file=" + two_lines.path()}, {}), Contains("16 to 1024"));
  for (const std::string& unfit : {std::string(), std::string("short"), secret + " ",
                                   "\xC3\xA9" + secret, std::string(1025, 'x')}) {
    CHECK_THAT(refusal({}, {{"SPOTMESH_ADMIN_TOKEN", unfit}}), Contains("16 to 1024"));
  }
}
