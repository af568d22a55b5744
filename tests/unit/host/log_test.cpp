#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <spotmesh/error.hpp>

#include "host/log_format.hpp"
#include "host/log_sink.hpp"

using namespace spotmesh;

namespace {

// 2026-11-30 14:00:01.250
constexpr WallTime some_time{1'796'047'201'250};

std::string text_line(std::string_view message, const std::vector<LogField>& fields = {}) {
  return format_log_line(LogFormat::Text, {some_time, LogLevel::Info, "net", message, &fields});
}

nlohmann::json json_line(std::string_view message, const std::vector<LogField>& fields = {}) {
  return nlohmann::json::parse(
      format_log_line(LogFormat::Json, {some_time, LogLevel::Warning, "net", message, &fields}));
}

const std::string hostile_values[] = {
    "line\nbreak",
    "carriage\rreturn",
    "\x1b[31mred\x1b[0m",
    "quote\" level=error",
    "back\\slash",
    "nul\0byte" + std::string(1, '\0'),
    "not utf-8 \xff\xc3",
    "rtl \xe2\x80\xae override",
    "separator \xe2\x80\xa8 here",
    "next line \xc2\x85",
    "\x7f",
    "truncated \xf0\x9f\x92",
};

class TemporaryFile {
 public:
  TemporaryFile()
      : path_(std::filesystem::temp_directory_path() /
              ("spotmesh-log-test-" + std::to_string(::getpid()))) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }

  std::string path() const { return path_.string(); }
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::ifstream in(path_);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a text line says when, how grave, who, what and with which values") {
  CHECK(text_line("session closed", {{"session", "17"}, {"reason", "closed by peer"}}) ==
        "2026-11-30T14:00:01.250Z INFO  net \"session closed\" session=17 "
        "reason=\"closed by peer\"");
  CHECK(text_line("", {{"empty", ""}}) == "2026-11-30T14:00:01.250Z INFO  net \"\" empty=\"\"");
}

TEST_CASE("text keeps letters of every language and shows emoji") {
  CHECK(text_line("x", {{"name", "Ж漢😀"}}).ends_with("name=\"Ж漢😀\""));
}

TEST_CASE("no value can break a text line, forge a field or steer a terminal") {
  CHECK(text_line("a\nb").ends_with("\"a\\nb\""));
  CHECK(text_line("x", {{"v", "a\" level=error"}}).ends_with("v=\"a\\\" level=error\""));
  CHECK(text_line("x", {{"v", "\x1b[31m"}}).ends_with("v=\"\\x1b[31m\""));
  CHECK(text_line("x", {{"v", "\xff"}}).ends_with("v=\"\\xff\""));
  CHECK(text_line("x", {{"v", "\xe2\x80\xae"}}).ends_with("v=\"\\u{202e}\""));
  CHECK(text_line("x", {{"v", "\xc2\x85"}}).ends_with("v=\"\\u{85}\""));
  CHECK(text_line("x", {{"v", "a\\b"}}).ends_with("v=\"a\\\\b\""));
  for (const std::string& value : hostile_values) {
    const std::string line = text_line(value, {{"v", value}});
    for (const char c : line) {
      const auto byte = static_cast<unsigned char>(c);
      REQUIRE(byte >= 0x20);
      REQUIRE(byte != 0x7f);
    }
    CHECK(line.find("\xe2\x80\xae") == std::string::npos);
    CHECK(line.find("\xe2\x80\xa8") == std::string::npos);
  }
}

TEST_CASE("a JSON line is one object with the fields apart") {
  const auto json = json_line("slow client", {{"message", "of a field"}, {"bytes", "12"}});
  CHECK(json["time"] == "2026-11-30T14:00:01.250Z");
  CHECK(json["level"] == "warning");
  CHECK(json["component"] == "net");
  CHECK(json["message"] == "slow client");
  CHECK(json["fields"]["message"] == "of a field");
  CHECK(json["fields"]["bytes"] == "12");
}

TEST_CASE("JSON lines parse whatever the values hold, and valid text comes back unchanged") {
  CHECK(json_line("Ж漢😀\"\\\n\x1b")["message"] == "Ж漢😀\"\\\n\x1b");
  CHECK(json_line("a\xff"
                  "b")["message"] ==
        "a\xef\xbf\xbd"
        "b");
  for (const std::string& value : hostile_values) {
    const std::vector<LogField> fields{{"v", value}};
    const std::string line =
        format_log_line(LogFormat::Json, {some_time, LogLevel::Info, "net", value, &fields});
    CHECK(line.find('\n') == std::string::npos);
    CHECK_NOTHROW(nlohmann::json::parse(line));
  }
}

TEST_CASE("the sink writes every line of every thread, whole, before it ends") {
  TemporaryFile file;
  {
    SpdlogSink sink({.lowest = LogLevel::Info,
                     .file = file.path(),
                     .queue_lines = 100'000,
                     .lines_per_second = 0});
    CHECK_FALSE(sink.is_enabled(LogLevel::Debug));
    sink.write(LogLevel::Debug, "test", "below the level", {});
    std::vector<std::jthread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&sink, t] {
        for (int i = 0; i < 500; ++i) {
          sink.write(LogLevel::Info, "test", "line",
                     {{"thread", std::to_string(t)}, {"number", std::to_string(i)}});
        }
      });
    }
  }
  std::vector<int> next(3, 0);
  for (const std::string& line : file.lines()) {
    const auto fields = line.find("test \"line\" thread=");
    REQUIRE(fields != std::string::npos);
    int thread = -1;
    int number = -1;
    REQUIRE(std::sscanf(line.c_str() + fields, "test \"line\" thread=%d number=%d", &thread,
                        &number) == 2);
    REQUIRE(next.at(static_cast<std::size_t>(thread))++ == number);
  }
  CHECK(next == std::vector<int>{500, 500, 500});
}

TEST_CASE("lines that a slow device costs are counted and reported") {
  TemporaryFile file;
  constexpr int written = 20'000;
  {
    SpdlogSink sink({.file = file.path(), .queue_lines = 2, .lines_per_second = 0});
    for (int i = 0; i < written; ++i) sink.write(LogLevel::Info, "test", "line", {});
  }
  int kept = 0;
  int reports = 0;
  for (const std::string& line : file.lines()) {
    kept += line.ends_with("test \"line\"") ? 1 : 0;
    reports += line.find("lines were lost") != std::string::npos ? 1 : 0;
  }
  CHECK(kept < written);
  CHECK(kept > 0);
  CHECK(reports > 0);
}

TEST_CASE("a flood of one component's lines is bounded, told, and keeps nothing else out") {
  TemporaryFile file;
  constexpr int written = 5'000;
  {
    SpdlogSink sink({.lowest = LogLevel::Debug,
                     .file = file.path(),
                     .queue_lines = 100'000,
                     .lines_per_second = 10});
    for (int i = 0; i < written; ++i) {
      sink.write(LogLevel::Warning, "objects", "flood", {});
      sink.write(LogLevel::Debug, "objects", "wanted", {});
    }
    sink.write(LogLevel::Error, "objects", "graver", {});
    sink.write(LogLevel::Warning, "session", "elsewhere", {});
  }
  int floods = 0;
  int left_out = 0;
  int others = 0;
  for (const std::string& line : file.lines()) {
    floods += line.ends_with("objects \"flood\"") ? 1 : 0;
    others += line.ends_with("\"wanted\"") || line.ends_with("\"graver\"") ||
                      line.ends_with("\"elsewhere\"")
                  ? 1
                  : 0;
    const auto count = line.find("component=objects level=warning count=");
    if (count != std::string::npos) left_out += std::stoi(line.substr(line.rfind('=') + 1));
  }
  CHECK(floods >= 100);
  CHECK(floods < written / 2);
  CHECK(floods + left_out == written);
  CHECK(others == written + 2);
}

TEST_CASE("a log file that cannot be opened is named") {
  try {
    SpdlogSink sink({.file = "/proc/nowhere/all.log"});
    FAIL("opened a file where none can be");
  } catch (const ConfigurationError& error) {
    CHECK(std::string(error.what()).find("/proc/nowhere/all.log") != std::string::npos);
  }
}
