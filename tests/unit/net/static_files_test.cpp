#include "net/static_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

using namespace spotmesh::net;
namespace fs = std::filesystem;

namespace {

// public/ is served; secret.txt lies beside it.
class Tree {
 public:
  Tree() {
    std::string pattern = (fs::temp_directory_path() / "spotmesh-files-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    write("secret.txt", "secret");
    write("public/index.html", "<p>front page");
    write("public/app.js", "run();");
    write("public/sub/index.html", "<p>below");
    write("public/sub/two words.txt", "words");
    write("public/.hidden", "hidden");
    write("public/.git/config", "hidden");
    write("public/big.bin", std::string(1001, 'x'));
    fs::create_symlink("../secret.txt", root_ / "public/link.txt");
    fs::create_symlink("/etc", root_ / "public/etc");
    fs::create_symlink("app.js", root_ / "public/inner.js");
    REQUIRE(mkfifo((root_ / "public/pipe").c_str(), 0600) == 0);
  }
  ~Tree() { fs::remove_all(root_); }

  StaticFiles files() const { return {(root_ / "public").string(), 1000}; }
  void write(const fs::path& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  fs::path path(const fs::path& name) const { return root_ / name; }

 private:
  fs::path root_;
};

std::string content(const StaticFile& file) {
  std::string text(file.bytes + 1, '\0');
  const ssize_t got = pread(file.file.descriptor(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

TEST_CASE("files below the directory are found, with their type") {
  const Tree tree;
  const auto files = tree.files();
  struct Case {
    const char* path;
    const char* content;
    const char* type;
  };
  for (const Case& wanted : {Case{"/", "<p>front page", "text/html; charset=utf-8"},
                             Case{"/index.html", "<p>front page", "text/html; charset=utf-8"},
                             Case{"/app.js", "run();", "text/javascript; charset=utf-8"},
                             Case{"/sub/", "<p>below", "text/html; charset=utf-8"},
                             Case{"/sub/two%20words.txt", "words", "text/plain; charset=utf-8"},
                             Case{"/%61pp.js", "run();", "text/javascript; charset=utf-8"}}) {
    INFO(wanted.path);
    const auto found = files.open(wanted.path);
    REQUIRE(found);
    CHECK(content(*found) == wanted.content);
    CHECK(found->content_type == wanted.type);
  }
}

TEST_CASE("nothing outside the directory and nothing hidden is served") {
  const Tree tree;
  const auto files = tree.files();
  using namespace std::string_literals;
  for (const std::string& path : {"/../secret.txt"s,
                                  "/sub/../../secret.txt"s,
                                  "/%2e%2e/secret.txt"s,
                                  "/..%2fsecret.txt"s,
                                  "/sub/..%2f..%2fsecret.txt"s,
                                  "/.%2e/secret.txt"s,
                                  "/%252e%252e/secret.txt"s,
                                  "/..\\secret.txt"s,
                                  "/..%5csecret.txt"s,
                                  "//etc/passwd"s,
                                  "///secret.txt"s,
                                  "/etc/passwd"s,
                                  "/link.txt"s,
                                  "/inner.js"s,
                                  "/.hidden"s,
                                  "/.git/config"s,
                                  "/sub/./x"s,
                                  "/app.js%00.html"s,
                                  "/app.js\0"s,
                                  "/sub"s,
                                  "/app.js/"s,
                                  "/app.js/x"s,
                                  "/pipe"s,
                                  "/nothing"s,
                                  ""s,
                                  "app.js"s,
                                  "http://x/app.js"s,
                                  "*"s,
                                  "/%"s,
                                  "/%4"s,
                                  "/%zz"s,
                                  "/" + std::string(5000, 'a'),
                                  "/" + std::string(300, 'a')}) {
    INFO(path);
    const auto found = files.open(path);
    REQUIRE_FALSE(found);
    CHECK(found.error().status == 404);
  }
}

TEST_CASE("a file over the limit is refused, and without a directory nothing is there") {
  const Tree tree;
  const auto too_big = tree.files().open("/big.bin");
  REQUIRE_FALSE(too_big);
  CHECK(too_big.error().status == 403);
  CHECK(too_big.error().text == "the file has 1001 bytes; up to 1000 are served");
  CHECK(StaticFiles("", 1000).open("/").error().status == 404);
  CHECK(StaticFiles(tree.path("missing").string(), 1000).open("/").error().status == 404);
}

TEST_CASE("the entity tag changes with the file, and a client that has it is told so") {
  Tree tree;
  const auto before = tree.files().open("/app.js");
  REQUIRE(before);
  RequestHead request;
  CHECK_FALSE(is_current_at_client(request, *before));
  request.headers = {{"If-None-Match", "\"other\", " + before->entity_tag}};
  CHECK(is_current_at_client(request, *before));
  request.headers = {{"if-none-match", "W/" + before->entity_tag}};
  CHECK(is_current_at_client(request, *before));

  tree.write("public/app.js", "walk();");
  const auto after = tree.files().open("/app.js");
  REQUIRE(after);
  CHECK(after->entity_tag != before->entity_tag);
  CHECK_FALSE(is_current_at_client(request, *after));
}

TEST_CASE("Last-Modified is the file's time as HTTP writes it") {
  const Tree tree;
  const timespec times[2] = {{784'111'777, 0}, {784'111'777, 0}};
  REQUIRE(utimensat(AT_FDCWD, tree.path("public/app.js").c_str(), times, 0) == 0);
  const auto found = tree.files().open("/app.js");
  REQUIRE(found);
  CHECK(found->last_modified == "Sun, 06 Nov 1994 08:49:37 GMT");
}
