// The opening of a client's connection: whatever is sent, a head or a refusal, the same however it
// is cut; a WebSocket only for a sound request; a file only from its directory.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "fuzz/fuzz.hpp"
#include "net/request_parser.hpp"
#include "net/static_files.hpp"
#include "net/upgrade.hpp"

namespace spotmesh::fuzz {
namespace {

constexpr std::size_t head_limit = 2048;

// A directory to serve, beside a file that is none of it. Gone with the process.
class Site {
 public:
  Site() {
    std::string name = std::filesystem::temp_directory_path() / "spotmesh-fuzz-XXXXXX";
    require(mkdtemp(name.data()) != nullptr, "a scratch folder can be made");
    root_ = name;
    std::filesystem::create_directories(root_ / "site" / "sub");
    for (const char* file : {"site/index.html", "site/a b.js", "site/.hidden", "site/sub/x.png"}) {
      std::ofstream(root_ / file) << "served";
    }
    std::ofstream(root_ / "secret") << "a secret";
    std::filesystem::create_symlink("../secret", root_ / "site" / "link");
  }
  ~Site() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;
  std::string directory() const { return root_ / "site"; }

 private:
  std::filesystem::path root_;
};

struct Read {
  std::optional<net::RequestHead> head;
  unsigned refused_with = 0;  // 0: the head is not whole yet
};

// As a socket gives it: what the parser leaves is shown to it again with what came meanwhile.
Read read(std::string_view text, std::size_t step) {
  net::RequestParser parser;
  parser.header_limit(head_limit);
  std::size_t arrived = 0;
  std::size_t taken = 0;
  while (!parser.is_header_done() && arrived < text.size()) {
    arrived = std::min(arrived + step, text.size());
    boost::system::error_code error;
    const auto waiting = text.substr(taken, arrived - taken);
    taken += parser.put(boost::asio::buffer(waiting.data(), waiting.size()), error);
    if (error == boost::beast::http::error::need_more) continue;
    if (error) return {std::nullopt, net::refusal_of(error, head_limit).status};
  }
  if (!parser.is_header_done()) return {};
  return {net::head_of(parser), 0};
}

bool is_same(const Read& a, const Read& b) {
  if (!a.head || !b.head) return a.head.has_value() == b.head.has_value();
  return a.head->method == b.head->method && a.head->target == b.head->target &&
         a.head->has_body == b.head->has_body && a.head->headers.size() == b.head->headers.size();
}

// A head has its lines and no other.
void check_response(std::string_view text, std::size_t headers) {
  const auto end = text.find("\r\n\r\n");
  require(end != text.npos, "a response has a whole head");
  const auto head = text.substr(0, end);
  require(static_cast<std::size_t>(std::ranges::count(head, '\n')) == headers,
          "nothing in a response adds a line to its head");
}

void check_upgrade(const net::RequestHead& head) {
  const stream::ListenOptions options{.subprotocols = {"spotmesh.v1.json", "other"},
                                      .allowed_origins = {"http://game.example"}};
  const auto upgrade = net::judge_upgrade(head, options);
  if (!upgrade) {
    const auto& refusal = upgrade.error();
    require(refusal.status >= 400 && refusal.status < 500, "a refusal blames the client");
    check_response(format_response(refusal, false, false), refusal.headers.size() + 3);
    return;
  }
  check_response(upgrade->response, 4);
  require(head.method == "GET" && !head.has_body && head.version == 11, "a link begins with GET");
  require(
      std::ranges::find(options.subprotocols, upgrade->subprotocol) != options.subprotocols.end(),
      "a link has a subprotocol that is spoken here");
  require(head.values("Origin").empty() || head.single_value("Origin") == "http://game.example" ||
              net::equal_ignoring_case(head.single_value("Origin"), "http://game.example"),
          "a page of another origin gets no link");
}

void check_file(const net::RequestHead& head) {
  static const Site site;
  const auto file = net::StaticFiles(site.directory(), 1024).open(head.path());
  if (!file) {
    require(file.error().status == 404, "what is not served is not there");
    return;
  }
  std::string content(file->bytes, '\0');
  require(
      pread(file->file.descriptor(), content.data(), content.size(), 0) == 6 && content == "served",
      "only files of the directory are served");
  require(head.path().find("/.") == std::string_view::npos, "no hidden file is served");
  net::is_current_at_client(head, *file);
}

}  // namespace

void run(ByteView bytes) {
  Input input(bytes);
  const std::size_t step = 1 + input.take_byte();
  const auto text = input.rest_text();
  const auto whole = read(text, std::max<std::size_t>(text.size(), 1));
  // Beast counts the bound by what each read brings, so a head a little above it may pass or not.
  if (text.size() <= head_limit) {
    require(is_same(whole, read(text, step)), "the same bytes are the same request");
  }
  if (!whole.head) return;
  check_upgrade(*whole.head);
  check_file(*whole.head);
}

}  // namespace spotmesh::fuzz
