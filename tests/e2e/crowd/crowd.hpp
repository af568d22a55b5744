// Crowd: clients in rooms of ten, each with a speaker who speaks at his own pace, and some who stop
// reading while the others are measured.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>

#include "wire/length_prefix.hpp"
#include "wire/stream_binary.hpp"

namespace spotmesh::crowd {

using Clock = std::chrono::steady_clock;

struct Options {
  std::uint16_t port = 0;  // of tcp://
  int pid = 0;             // of the server, whose memory is read
  int rooms = 200;
  int loud_rooms = 10;  // of them; their speakers speak more often
  int deaf = 20;        // one each in the first rooms, which are lively if they are not loud
  double seconds = 4;   // of a phase
};

// What a phase has shown.
struct Phase {
  bool has_deaf = false;
  std::size_t heard = 0;  // by those who are never deaf
  double median_ms = 0;   // from when the speaker was due to speak
  double p99_ms = 0;
  double longest_ms = 0;
  std::size_t most_resident_bytes = 0;
  std::size_t deaf_sessions = 0;
  std::size_t told = 0;   // of them, found a close with SlowReader when they read again
  std::size_t cut = 0;    // … found the connection cut
  std::size_t alive = 0;  // … found it open
};

class Crowd {
 public:
  explicit Crowd(const Options& options);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Everybody is in and has his room. Throws std::runtime_error, as everything here, when the
  // server does not do its part.
  void come_in();
  Phase run_phase(bool has_deaf);
  // Of the server, now.
  std::size_t resident_bytes() const;

 private:
  enum class State : std::uint8_t { Entering, In, Deaf, Told, Cut };
  struct Client {
    int descriptor = -1;
    int room = 0;
    State state = State::Entering;
    bool is_measured = true;
    int awaited = 3;  // Welcome, Entered and Arrived
    std::unique_ptr<wire::LengthPrefixDecoder> decoder;
  };
  struct Speaker {
    std::size_t client = 0;
    Clock::duration pause{};  // zero: does not speak yet
    Clock::time_point due;
  };

  std::size_t connect_to(int room, bool is_measured);
  void pump(Clock::time_point until);
  void read(std::size_t number);
  void take(Client& client, ByteView frame);
  void take_push(Client& client, const wire::BinaryFrame& frame);
  void go_on_entering(Client& client);
  void end(Client& client, State state, std::string_view how);
  void listen_to(std::size_t number, bool is_listening);
  void speak_if_due(Clock::time_point now);
  void speak(const Speaker& speaker);
  void fall_deaf();
  void take_places();
  void add_deaf();
  void wake_deaf(Phase& phase);
  void ask_for_burst();

  const Options options_;
  const int epoll_;
  std::vector<Client> clients_;
  std::vector<Speaker> speakers_;             // by room
  std::vector<std::size_t> hard_of_hearing_;  // who is deaf in some phases
  std::vector<std::size_t> deaf_;             // in this phase
  std::size_t in_ = 0;
  bool is_measuring_ = false;
  std::vector<double> milliseconds_;
  std::size_t most_resident_bytes_ = 0;
  int sparks_ = 0;  // of the burst that is under way
  bool is_burnt_ = true;
  Clock::time_point looked_at_memory_;
};

}  // namespace spotmesh::crowd
