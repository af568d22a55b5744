// Loads a WebSocket server from one thread and prints what it measured as one line of JSON. What it
// sends is made beforehand, so that it costs as little as possible beside what it measures.
//
//   gateway_load MODE --port P [--pid PID] [--conns N] [--depth D] [--secs S]
//
//   plain      any echo server, without a subprotocol
//   echo       requests that the session answers
//   actor      requests that the bound Actor answers
//   broadcast  rooms of ten: one of each says something, and again when all have heard it
//   join       connections that come in, get an Actor and join a room
//   idle       connections that are open and silent: what each takes of the server's memory
//   idle_plain the same of any WebSocket server
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gate.packets.hpp"
#include "wire/stream_binary.hpp"
#include "wire/stream_handshake.hpp"
#include "wire/websocket.hpp"

namespace {

using namespace spotmesh;
using Clock = std::chrono::steady_clock;

constexpr int members_of_a_room = 10;
constexpr int entering_at_once = 64;
constexpr wire::MaskKey mask{std::byte{0x37}, std::byte{0xfa}, std::byte{0x21}, std::byte{0x3d}};
constexpr std::string_view text = "0123456789abcdefghij";  // makes a packet of about 48 bytes

struct Options {
  std::string mode;
  std::uint16_t port = 0;
  int pid = 0;
  int conns = 100;
  int depth = 1;
  double secs = 3;
};

// What the server has used so far.
struct Usage {
  double cpu = 0;  // seconds
  double resident_bytes = 0;
};

Usage usage_of(int pid) {
  Usage usage;
  if (pid == 0) return usage;
  std::string line;
  std::getline(std::ifstream(fmt::format("/proc/{}/stat", pid)), line);
  unsigned long user = 0;
  unsigned long system = 0;
  std::sscanf(line.c_str() + line.rfind(')') + 2,
              "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
  usage.cpu = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  long pages = 0;
  std::ifstream(fmt::format("/proc/{}/statm", pid)) >> pages >> pages;
  usage.resident_bytes = static_cast<double>(pages * sysconf(_SC_PAGESIZE));
  return usage;
}

void append_message(std::string& out, ByteView payload) {
  Bytes frame;
  wire::append_frame(frame, wire::WebSocketOpcode::Binary, payload, mask);
  out += as_text(frame);
}

template <Packet P>
void append_packet(std::string& out, std::uint32_t seq, const P& packet) {
  const Bytes body = PacketTraits<P>::encode(packet);
  Bytes frame;
  wire::append_binary_frame(
      frame, {.kind = seq == 0 ? wire::BinaryKind::OneWay : wire::BinaryKind::Request,
              .packet = PacketTraits<P>::descriptor().id,
              .seq = {seq},
              .body = body});
  append_message(out, frame);
}

class Load {
 public:
  explicit Load(Options options);
  int run();

 private:
  enum class Phase : std::uint8_t { Upgrading, Entering, In };
  struct Connection {
    int descriptor = -1;
    Phase phase = Phase::Upgrading;
    int awaited = 0;       // messages until it is in; of a room's first, until all have heard
    std::string partial;   // of what has come
    std::size_t next = 0;  // the message of `batch_` that it says next
    std::deque<Clock::time_point> said;
  };

  bool is_plain() const { return options_.mode == "plain" || options_.mode == "idle_plain"; }
  bool is_idle() const { return options_.mode == "idle" || options_.mode == "idle_plain"; }
  bool is_in_rooms() const { return options_.mode == "broadcast" || options_.mode == "join"; }
  void make_messages();
  void connect_next();
  void say_hello(std::size_t number);
  void say(std::size_t number, int count);
  void pump(Clock::time_point until, bool until_all_in);
  void read(std::size_t number);
  void take(std::size_t number, std::string_view bytes);
  std::size_t take_frames(std::size_t number, std::string_view bytes);
  void take_message(std::size_t number, std::string_view payload);
  void check(std::string_view payload) const;
  void send(Connection& connection, std::string_view bytes);
  void report(const Usage& before, const Usage& after, double seconds);

  const Options options_;
  const int epoll_ = epoll_create1(0);
  std::vector<Connection> connections_;
  std::size_t connected_ = 0;
  std::size_t in_ = 0;
  std::string batch_;  // `depth` messages, twice
  std::size_t message_bytes_ = 0;
  std::uint64_t heard_ = 0;
  std::vector<double> microseconds_;  // from saying to hearing
};

Load::Load(Options options) : options_(std::move(options)) {
  const rlimit most{1 << 20, 1 << 20};
  setrlimit(RLIMIT_NOFILE, &most);
  connections_.resize(static_cast<std::size_t>(options_.conns));
  microseconds_.reserve(1 << 22);
  make_messages();
}

void Load::make_messages() {
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i <= options_.depth; ++i) {
      const auto seq = static_cast<std::uint32_t>(i);
      const std::string said(text);
      if (is_plain()) append_message(batch_, PacketTraits<gate::Echo>::encode({.text = said}));
      if (options_.mode == "echo") append_packet(batch_, seq, gate::Echo{.text = said});
      if (options_.mode == "actor") append_packet(batch_, seq, gate::Bounce{.text = said});
      if (options_.mode == "broadcast") append_packet(batch_, 0, gate::Shout{.text = said});
    }
  }
  message_bytes_ = batch_.size() / static_cast<std::size_t>(2 * options_.depth);
}

void Load::connect_next() {
  const std::size_t number = connected_++;
  Connection& connection = connections_[number];
  connection.descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(options_.port);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(connection.descriptor, reinterpret_cast<sockaddr*>(&server), sizeof server) != 0) {
    throw std::runtime_error("cannot connect");
  }
  const int at_once = 1;
  setsockopt(connection.descriptor, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  fcntl(connection.descriptor, F_SETFL, O_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.descriptor, &event);
  send(connection, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                               "Connection: Upgrade\r\n"
                               "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n"
                               "Sec-WebSocket-Version: 13\r\n{}\r\n",
                               is_plain() ? "/" : "/stream",
                               is_plain() ? "" : "Sec-WebSocket-Protocol: spotmesh.v1\r\n"));
}

// Behind the upgrade; everything up to being in, in one write.
void Load::say_hello(std::size_t number) {
  Connection& connection = connections_[number];
  std::string words;
  if (!is_plain()) {
    Bytes hello;
    const Bytes body = wire::write_stream_hello({.types = {}, .resume = {}});
    wire::append_binary_frame(hello, {.kind = wire::BinaryKind::Hello, .body = body});
    append_message(words, hello);
    connection.awaited = 1;
  }
  if (options_.mode == "actor" || is_in_rooms()) {
    const std::string room =
        is_in_rooms() ? fmt::format("room-{}", number / members_of_a_room) : std::string();
    append_packet(words, 1, gate::Enter{.player = fmt::format("player-{}", number), .room = room});
    connection.awaited += is_in_rooms() ? 2 : 1;
  }
  connection.phase = connection.awaited == 0 ? Phase::In : Phase::Entering;
  if (connection.phase == Phase::In) ++in_;
  if (!words.empty()) send(connection, words);
}

void Load::send(Connection& connection, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t said = ::send(connection.descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (said < 0 && errno == EAGAIN) continue;  // what is under way is bounded, so it drains
    if (said <= 0) throw std::runtime_error("the server has closed a connection");
    bytes.remove_prefix(static_cast<std::size_t>(said));
  }
}

void Load::say(std::size_t number, int count) {
  Connection& connection = connections_[number];
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i) connection.said.push_back(now);
  send(connection,
       std::string_view(batch_).substr(connection.next * message_bytes_,
                                       static_cast<std::size_t>(count) * message_bytes_));
  connection.next = (connection.next + static_cast<std::size_t>(count)) %
                    static_cast<std::size_t>(options_.depth);
}

void Load::pump(Clock::time_point until, bool until_all_in) {
  std::array<epoll_event, 512> events;
  while (Clock::now() < until && !(until_all_in && in_ == connections_.size())) {
    while (connected_ < connections_.size() && connected_ - in_ < entering_at_once) connect_next();
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 10);
    for (int i = 0; i < count; ++i) read(events[static_cast<std::size_t>(i)].data.u64);
  }
}

void Load::read(std::size_t number) {
  static std::array<char, 64 * 1024> buffer;
  Connection& connection = connections_[number];
  const ssize_t got = recv(connection.descriptor, buffer.data(), buffer.size(), 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) throw std::runtime_error("the server has closed a connection");
  take(number, {buffer.data(), static_cast<std::size_t>(got)});
}

void Load::take(std::size_t number, std::string_view bytes) {
  Connection& connection = connections_[number];
  std::string joined;
  if (!connection.partial.empty()) {
    joined = std::move(connection.partial.append(bytes));
    connection.partial.clear();
    bytes = joined;
  }
  if (connection.phase == Phase::Upgrading) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) {
      connection.partial = bytes;
      return;
    }
    if (!bytes.starts_with("HTTP/1.1 101 ")) throw std::runtime_error(std::string(bytes));
    bytes.remove_prefix(end + 4);
    say_hello(number);
  }
  const std::size_t used = take_frames(number, bytes);
  if (used < bytes.size()) connection.partial = bytes.substr(used);
}

std::size_t Load::take_frames(std::size_t number, std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::size_t at = 0;
  const std::uint64_t before = heard_;
  while (bytes.size() - at >= 2) {
    std::size_t length = byte(at + 1);
    std::size_t head = 2;
    if (length == 126) {
      if (bytes.size() - at < 4) break;
      length = static_cast<std::size_t>(byte(at + 2)) << 8 | byte(at + 3);
      head = 4;
    }
    if (bytes.size() - at < head + length) break;
    const std::string_view payload = bytes.substr(at + head, length);
    if ((byte(at) & 0x0f) == 2) take_message(number, payload);
    if ((byte(at) & 0x0f) == 8) throw std::runtime_error("closed: " + std::string(payload));
    at += head + length;
  }
  const int answered = static_cast<int>(heard_ - before);
  if (answered > 0 && options_.mode != "broadcast") say(number, answered);
  return at;
}

void Load::take_message(std::size_t number, std::string_view payload) {
  Connection& connection = connections_[number];
  if (!is_plain()) check(payload);
  if (connection.phase == Phase::Entering) {
    if (--connection.awaited > 0) return;
    connection.phase = Phase::In;
    ++in_;
    return;
  }
  ++heard_;
  // In a room it is the first member who has said it, and says more once all have heard it.
  const bool is_room = options_.mode == "broadcast";
  const std::size_t speaker = is_room ? number - number % members_of_a_room : number;
  auto& said = connections_[speaker].said;
  if (said.empty()) return;
  microseconds_.push_back(
      std::chrono::duration<double, std::micro>(Clock::now() - said.front()).count());
  if (!is_room) return said.pop_front();
  if (++connections_[speaker].awaited < members_of_a_room) return;
  connections_[speaker].awaited = 0;
  said.pop_front();
  say(speaker, 1);
}

void Load::check(std::string_view payload) const {
  const auto frame = wire::parse_binary_frame(as_bytes(payload), wire::BinarySender::Server,
                                              wire::BinaryCarrier::WebSocket);
  if (!frame) throw std::runtime_error(frame.error().message());
  if (frame->kind == wire::BinaryKind::ErrorReply) {
    throw std::runtime_error("refused: " + to_string(wire::error_of(*frame)));
  }
}

int Load::run() {
  using Seconds = std::chrono::duration<double>;
  const auto ticks = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  };
  const Usage empty = usage_of(options_.pid);
  const auto began = Clock::now();
  pump(began + std::chrono::seconds(60), true);
  if (in_ < connections_.size()) throw std::runtime_error("not all came in within a minute");
  if (options_.mode == "join" || is_idle()) {
    const double seconds = Seconds(Clock::now() - began).count();
    heard_ = in_;
    pump(Clock::now() + ticks(is_idle() ? 1 : 0), false);
    report(empty, usage_of(options_.pid), seconds);
    return 0;
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (options_.mode != "broadcast") say(i, options_.depth);
    if (options_.mode == "broadcast" && i % members_of_a_room == 0) say(i, 1);
  }
  pump(Clock::now() + ticks(options_.secs / 4), false);  // until it runs evenly
  heard_ = 0;
  microseconds_.clear();
  const Usage before = usage_of(options_.pid);
  const auto start = Clock::now();
  pump(start + ticks(options_.secs), false);
  report(before, usage_of(options_.pid), Seconds(Clock::now() - start).count());
  return 0;
}

void Load::report(const Usage& before, const Usage& after, double seconds) {
  const auto quantile = [this](double share) {
    if (microseconds_.empty()) return 0.0;
    const auto place =
        microseconds_.begin() +
        static_cast<std::ptrdiff_t>(share * static_cast<double>(microseconds_.size() - 1));
    std::nth_element(microseconds_.begin(), place, microseconds_.end());
    return *place;
  };
  const auto heard = static_cast<double>(heard_);
  const double cpu = after.cpu - before.cpu;
  fmt::print(
      R"({{"mode":"{}","conns":{},"depth":{},"per_s":{:.0f},"per_cpu_s":{:.0f},)"
      R"("server_cpu":{:.3f},"p50_us":{:.1f},"p99_us":{:.1f},"bytes_each":{:.0f}}})"
      "\n",
      options_.mode, options_.conns, options_.depth, heard / seconds, cpu > 0 ? heard / cpu : 0.0,
      cpu / seconds, quantile(0.5), quantile(0.99),
      (after.resident_bytes - before.resident_bytes) / static_cast<double>(connections_.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Loads a WebSocket server and prints what it measured.");
  app.add_option("mode", options.mode)
      ->required()
      ->check(CLI::IsMember({"plain", "echo", "actor", "broadcast", "join", "idle", "idle_plain"}));
  app.add_option("--port", options.port)->required();
  app.add_option("--pid", options.pid, "of the server, whose CPU time and memory are read");
  app.add_option("--conns", options.conns)->check(CLI::Range(1, 100'000));
  app.add_option("--depth", options.depth, "messages under way")->check(CLI::Range(1, 256));
  app.add_option("--secs", options.secs);
  CLI11_PARSE(app, argc, argv);
  try {
    return Load(std::move(options)).run();
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gateway_load: {}\n", failure.what());
    return 1;
  }
}
