// Texts of others on an operator's terminal.
#include "cli/terminal_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace spotmesh::cli;

TEST_CASE("an id that can be mistaken for nothing else is shown as it is") {
  for (const std::string id : {"ann", "a/b%2F", "한글", "Zoë", "\xF0\x9F\x98\x80", "x'y", "-"}) {
    CHECK(shown(id) == id);
  }
}

TEST_CASE("what would steer a terminal, forge a column or hide is escaped, in quotes") {
  CHECK(shown("") == "\"\"");
  CHECK(shown("a b") == "\"a b\"");
  CHECK(shown("a\nb\tc\r") == R"("a\nb\tc\r")");
  CHECK(shown("\x1b[31m") == R"("\u{1b}[31m")");
  CHECK(shown("say \"hi\" \\o/") == R"("say \"hi\" \\o/")");
  CHECK(shown("\xE2\x80\xAEtxt") == R"("\u{202e}txt")");
  CHECK(shown("bo\xE2\x80\x8B"
              "b") == R"("bo\u{200b}b")");
  CHECK(shown("\xFF") == R"("\xff")");
  CHECK(shown("\xC2\x9B") == R"("\u{9b}")");
}

TEST_CASE("a literal escape and what it stands for do not look the same") {
  CHECK(shown("\\n") == R"("\\n")");
  CHECK(shown("\n") == R"("\n")");
}

TEST_CASE("a sentence keeps its spaces and quotes, and nothing of it steers a terminal") {
  CHECK(shown_words("Actor 'a \"b\"' is away") == "Actor 'a \"b\"' is away");
  CHECK(shown_words("gone\n\x1b[2J") == R"(gone\n\u{1b}[2J)");
}

TEST_CASE("a document of JSON means the same when it is shown, and hides nothing") {
  const nlohmann::json document{{"id", "a\xE2\x80\xAE\x7f\xF0\x9F\x98\x80\n"},
                                {"tag", "\xF3\xA0\x80\x81"}};
  const std::string text = shown_json(document.dump());
  CHECK(text.find("\xE2\x80\xAE") == std::string::npos);
  CHECK(text.find('\x7f') == std::string::npos);
  CHECK(text.find("\xF0\x9F\x98\x80") != std::string::npos);
  CHECK(text.find(R"(\u202e\u007f)") != std::string::npos);
  CHECK(nlohmann::json::parse(text) == document);
}

TEST_CASE("columns count what a terminal shows") {
  CHECK(columns_of("abc") == 3);
  CHECK(columns_of("한글") == 4);
  CHECK(columns_of("e\xCC\x81") == 1);
  CHECK(columns_of("\xF0\x9F\x98\x80") == 2);
}
