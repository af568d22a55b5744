#include "crowd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "gate.packets.hpp"
#include "wire/stream_handshake.hpp"

namespace spotmesh::crowd {
namespace {

using namespace std::chrono_literals;

constexpr int members_of_a_room = 10;
constexpr std::size_t entering_at_once = 64;
constexpr std::size_t longest_frame = 64 * 1024;
constexpr std::size_t stamp_digits = 16;
constexpr int sparks_of_a_burst = 500;
constexpr int patience_ms = 10'000;
constexpr std::size_t text_bytes = 8000;
constexpr auto loud_pause = 10ms;
constexpr auto lively_pause = 100ms;
constexpr auto quiet_pause = 200ms;
// Measured only when the change from phase to phase is over.
constexpr auto settling_time = 500ms;
// Who is deaf comes again as often, each time as a new player.
constexpr auto deaf_come_again = 1500ms;
constexpr auto waking_time = 1s;
// The less the kernel keeps for who does not read, the sooner the server has to.
constexpr int small_segment = 1400;
constexpr int small_buffer = 2304;

Bytes framed(const wire::BinaryFrame& frame) {
  Bytes bytes;
  wire::append_length_prefix(
      bytes, static_cast<std::uint32_t>(wire::binary_header_bytes + frame.body.size()));
  wire::append_binary_frame(bytes, frame);
  return bytes;
}

template <Packet P>
Bytes packet_frame(std::uint32_t seq, const P& packet) {
  const Bytes body = PacketTraits<P>::encode(packet);
  return framed({.kind = seq == 0 ? wire::BinaryKind::OneWay : wire::BinaryKind::Request,
                 .packet = PacketTraits<P>::descriptor().id,
                 .seq = {seq},
                 .body = body});
}

Bytes hello_frame() {
  const Bytes body = wire::write_stream_hello({.types = {}, .resume = {}});
  return framed({.kind = wire::BinaryKind::Hello, .body = body});
}

// What is under way is bounded, so it drains; a server that reads nothing is given up.
void send_all(int descriptor, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t said = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (said > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(said));
      continue;
    }
    pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (errno != EAGAIN || poll(&writable, 1, patience_ms) <= 0) {
      throw std::runtime_error("the server does not take what a client says");
    }
  }
}

int open_socket(std::uint16_t port, bool is_small) {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  const auto set = [&](int level, int option, int value) {
    setsockopt(descriptor, level, option, &value, sizeof value);
  };
  if (is_small) {
    set(IPPROTO_TCP, TCP_MAXSEG, small_segment);
    set(SOL_SOCKET, SO_RCVBUF, small_buffer);
  }
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(port);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&server), sizeof server) != 0) {
    throw std::runtime_error("cannot connect");
  }
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return descriptor;
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

Crowd::Crowd(const Options& options) : options_(options), epoll_(epoll_create1(0)) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Crowd::~Crowd() {
  for (const Client& client : clients_) {
    if (client.descriptor >= 0) close(client.descriptor);
  }
  close(epoll_);
}

std::size_t Crowd::resident_bytes() const {
  std::size_t pages = 0;
  std::ifstream(fmt::format("/proc/{}/statm", options_.pid)) >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t Crowd::connect_to(int room, bool is_measured) {
  const std::size_t number = clients_.size();
  clients_.push_back({.descriptor = open_socket(options_.port, !is_measured),
                      .room = room,
                      .is_measured = is_measured,
                      .decoder = std::make_unique<wire::LengthPrefixDecoder>(
                          wire::LengthPrefixDecoder::Bounds{.max_frame_bytes = longest_frame})});
  Client& client = clients_.back();
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, client.descriptor, &event);
  send_all(client.descriptor, hello_frame());
  send_all(client.descriptor,
           packet_frame(1, gate::Enter{.player = fmt::format("player-{}", number),
                                       .room = fmt::format("room-{}", room)}));
  return number;
}

void Crowd::come_in() {
  const auto last = Clock::now() + 60s;
  for (int room = 0; room < options_.rooms; ++room) {
    for (int member = 0; member < members_of_a_room; ++member) {
      const bool may_be_deaf = room < options_.deaf && member == members_of_a_room - 1;
      const std::size_t number = connect_to(room, !may_be_deaf);
      if (may_be_deaf) hard_of_hearing_.push_back(number);
      if (member == 0) speakers_.push_back({.client = number});
      while (clients_.size() - in_ >= entering_at_once && Clock::now() < last) {
        pump(Clock::now() + 1ms);
      }
    }
  }
  while (in_ < clients_.size() && Clock::now() < last) pump(Clock::now() + 1ms);
  if (in_ < clients_.size()) throw std::runtime_error("not all came in within a minute");
  for (std::size_t room = 0; room < speakers_.size(); ++room) {
    Speaker& speaker = speakers_[room];
    speaker.pause = room < static_cast<std::size_t>(options_.loud_rooms) ? loud_pause
                    : room < static_cast<std::size_t>(options_.deaf)     ? lively_pause
                                                                         : quiet_pause;
    speaker.due = Clock::now() + speaker.pause * room / speakers_.size();  // no two at once
  }
}

Phase Crowd::run_phase(bool has_deaf) {
  Phase phase{.has_deaf = has_deaf};
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options_.seconds));
  if (has_deaf) fall_deaf();
  pump(start + settling_time);
  milliseconds_.clear();
  most_resident_bytes_ = 0;
  is_measuring_ = true;
  ask_for_burst();
  for (auto next = start + deaf_come_again; next < end; next += deaf_come_again) {
    pump(next);
    if (has_deaf) add_deaf();
  }
  pump(end);
  is_measuring_ = false;
  if (!is_burnt_ || sparks_ != sparks_of_a_burst) {
    throw std::runtime_error(fmt::format("of a burst came {} pushes", sparks_));
  }
  wake_deaf(phase);
  phase.heard = milliseconds_.size();
  phase.median_ms = quantile(milliseconds_, 0.5);
  phase.p99_ms = quantile(milliseconds_, 0.99);
  phase.longest_ms = quantile(milliseconds_, 1);
  phase.most_resident_bytes = most_resident_bytes_;
  return phase;
}

void Crowd::pump(Clock::time_point until) {
  std::array<epoll_event, 512> events;
  for (auto now = Clock::now(); now < until; now = Clock::now()) {
    speak_if_due(now);
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 1);
    for (int i = 0; i < count; ++i) read(events[static_cast<std::size_t>(i)].data.u64);
    if (now - looked_at_memory_ < 50ms) continue;
    looked_at_memory_ = now;
    most_resident_bytes_ = std::max(most_resident_bytes_, resident_bytes());
  }
}

void Crowd::speak_if_due(Clock::time_point now) {
  for (Speaker& speaker : speakers_) {
    if (speaker.pause == Clock::duration::zero() || speaker.due > now) continue;
    speak(speaker);
    speaker.due += speaker.pause;
  }
}

// The text begins with when it was due, so that a late speaker counts as well.
void Crowd::speak(const Speaker& speaker) {
  std::string text = fmt::format(
      "{:0{}x}",
      std::chrono::duration_cast<std::chrono::nanoseconds>(speaker.due.time_since_epoch()).count(),
      stamp_digits);
  text.resize(text_bytes, '.');
  send_all(clients_[speaker.client].descriptor, packet_frame(0, gate::Shout{.text = text}));
}

void Crowd::read(std::size_t number) {
  static std::array<std::byte, 256 * 1024> buffer;
  Client& client = clients_[number];
  const ssize_t got = recv(client.descriptor, buffer.data(), buffer.size(), 0);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return end(client, State::Cut, "cut");
  ByteView rest(buffer.data(), static_cast<std::size_t>(got));
  using Event = wire::LengthPrefixDecoder::Event;
  for (Event event = client.decoder->next(rest); event.kind != Event::Kind::NeedMoreBytes;
       event = client.decoder->next(rest)) {
    if (event.kind == Event::Kind::Failed) throw std::runtime_error(event.close.reason);
    take(client, event.frame);
  }
}

void Crowd::take(Client& client, ByteView bytes) {
  const auto frame =
      wire::parse_binary_frame(bytes, wire::BinarySender::Server, wire::BinaryCarrier::Tcp);
  if (!frame) throw std::runtime_error(frame.error().message());
  switch (frame->kind) {
    case wire::BinaryKind::ErrorReply:
      throw std::runtime_error("refused: " + to_string(wire::error_of(*frame)));
    case wire::BinaryKind::Close: {
      const auto close = wire::close_of(*frame);
      const bool is_slow = close.code == wire::CloseCode::SlowReader;
      return end(client, is_slow ? State::Told : State::Cut, close.reason);
    }
    case wire::BinaryKind::Ping:
      return send_all(client.descriptor,
                      framed({.kind = wire::BinaryKind::Pong, .body = frame->body}));
    case wire::BinaryKind::Push:
      return take_push(client, *frame);
    case wire::BinaryKind::Reply:
      if (frame->packet == PacketTraits<gate::Burnt>::descriptor().id) is_burnt_ = true;
      break;
    default:
      break;
  }
  go_on_entering(client);
}

// Welcome, Entered and Arrived come in this order.
void Crowd::go_on_entering(Client& client) {
  if (client.state != State::Entering || --client.awaited > 0) return;
  client.state = State::In;
  ++in_;
}

void Crowd::take_push(Client& client, const wire::BinaryFrame& frame) {
  if (frame.packet == PacketTraits<gate::Arrived>::descriptor().id) return go_on_entering(client);
  if (frame.packet == PacketTraits<gate::Spark>::descriptor().id) {
    const auto spark = PacketTraits<gate::Spark>::decode(frame.body);
    if (!spark || spark->number != sparks_++) throw std::runtime_error("a spark out of its order");
    return;
  }
  if (!is_measuring_ || !client.is_measured) return;
  const auto heard = PacketTraits<gate::Heard>::decode(frame.body);
  if (!heard) throw std::runtime_error(heard.error().message());
  std::int64_t due = 0;
  std::from_chars(heard->text.data(), heard->text.data() + stamp_digits, due, 16);
  const auto took = Clock::now().time_since_epoch() - std::chrono::nanoseconds(due);
  milliseconds_.push_back(std::chrono::duration<double, std::milli>(took).count());
}

// Only who was deaf may be ended by the server.
void Crowd::end(Client& client, State state, std::string_view how) {
  if (client.is_measured || client.state != State::Deaf) {
    throw std::runtime_error(fmt::format("a client that reads was ended: {}", how));
  }
  client.state = state;
  close(std::exchange(client.descriptor, -1));
}

void Crowd::listen_to(std::size_t number, bool is_listening) {
  epoll_event event{.events = is_listening ? EPOLLIN : 0U, .data = {.u64 = number}};
  epoll_ctl(epoll_, is_listening ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, clients_[number].descriptor,
            &event);
}

void Crowd::fall_deaf() {
  for (const std::size_t number : hard_of_hearing_) {
    clients_[number].state = State::Deaf;
    listen_to(number, false);
  }
  deaf_ = std::exchange(hard_of_hearing_, {});
}

// In the places of those who are deaf come others, who will be.
void Crowd::take_places() {
  hard_of_hearing_.clear();
  for (int room = 0; room < options_.deaf; ++room) {
    hard_of_hearing_.push_back(connect_to(room, false));
  }
  const auto last = Clock::now() + std::chrono::milliseconds(patience_ms);
  while (in_ < clients_.size() && Clock::now() < last) pump(Clock::now() + 1ms);
  if (in_ < clients_.size()) throw std::runtime_error("who came again did not get in");
}

void Crowd::add_deaf() {
  std::vector<std::size_t> before = std::move(deaf_);
  take_places();
  fall_deaf();
  deaf_.insert(deaf_.end(), before.begin(), before.end());
}

// They read what there is for them, and find out what has become of them.
void Crowd::wake_deaf(Phase& phase) {
  if (deaf_.empty()) return;
  for (const std::size_t number : deaf_) listen_to(number, true);
  pump(Clock::now() + waking_time);
  phase.deaf_sessions = deaf_.size();
  for (const std::size_t number : std::exchange(deaf_, {})) {
    Client& client = clients_[number];
    if (client.state == State::Told) ++phase.told;
    if (client.state == State::Cut) ++phase.cut;
    if (client.state != State::Deaf) continue;
    ++phase.alive;
    close(std::exchange(client.descriptor, -1));
  }
  take_places();
}

void Crowd::ask_for_burst() {
  sparks_ = 0;
  is_burnt_ = false;
  send_all(clients_.front().descriptor, packet_frame(2, gate::Burst{.count = sparks_of_a_burst}));
}

}  // namespace spotmesh::crowd
