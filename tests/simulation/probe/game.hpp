// The checking game: Actors that talk, ask, move between rooms and end, and that notice when
// something about it is not as the contract says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/spotmesh.hpp>

#include "ledger.hpp"
#include "probe.packets.hpp"
#include "speech.hpp"

namespace probe {

inline constexpr std::string_view runner_type = "runner";
inline constexpr std::string_view room_type = "room";

// How a room answers who knocks.
enum class Mood : std::uint8_t { Welcoming, Slow, Rejecting, Throwing };

class Runner final : public spotmesh::Actor {
 public:
  Runner(spotmesh::ActorContext& context, Ledger& ledger);
  ~Runner() override;
  static void handlers(spotmesh::ActorHandlers<Runner>& on);

  void attach(const Attach& attach);
  void note(const Note& note);
  void word(const Word& word);
  spotmesh::Task<Answer> ask(const Ask& ask);
  spotmesh::Task<Told> tell(const Tell& tell);
  spotmesh::Task<Queried> query(const Query& query);
  spotmesh::Task<spotmesh::Result<Reply>> answer(const Question& question,
                                                 const spotmesh::MessageContext& message);
  spotmesh::Task<spotmesh::Result<Registered>> enter(const Enter& enter);
  spotmesh::Result<Registered> leave(const Leave& leave);
  spotmesh::Result<Ticking> tick(const Tick& tick);
  spotmesh::Task<Announced> announce(const Announce& announce);
  void pulse(const spotmesh::TimerTick& tick);
  spotmesh::Task<void> on_join_completed(const spotmesh::JoinCompletion& completion) override;

  // For the Spots' callbacks, which are given this Actor and hold it.
  const Life& life() const { return life_; }
  bool is_busy() const { return is_busy_; }
  void has_been_created_in(const spotmesh::SpotId& spot);
  void has_joined(const spotmesh::SpotId& spot);
  void has_left(const spotmesh::SpotId& spot);
  void has_lost_its_client();

 private:
  // The Actor's own turn, from its start to its end, yields included.
  class Turn;
  void complain(std::string what);
  std::string gate() const;
  void push_heard();
  void check_patience(std::string_view what, spotmesh::Instant begun, spotmesh::Duration patience);
  void check_way(const spotmesh::Error& error);
  spotmesh::Task<void> idle(std::uint32_t delay_us);

  Ledger& ledger_;
  const Life life_;
  const std::string node_;
  bool is_busy_ = false;
  // By the callbacks: where it is, and which Spot has still to say good-bye.
  std::string spot_;
  std::string leaving_;
  bool is_joining_ = false;  // from the turn that registered a Join to its completion
  // The Join that is pending is into a room of another node, and nothing fails any more.
  bool is_room_elsewhere_ = false;
  // Of the client that is attached now.
  std::uint32_t connection_ = 0;
  std::uint32_t notes_ = 0;
  std::uint32_t pushes_ = 0;
  bool is_ticking_ = false;
  std::uint64_t ticks_ = 0;
  spotmesh::Duration period_{};
  spotmesh::Instant last_tick_{};
};

class Hall : public spotmesh::EntrySpot<Runner> {
 public:
  using EntrySpot::EntrySpot;
  spotmesh::Task<spotmesh::CreateDecision> on_create_actor(Runner& runner,
                                                           const spotmesh::Message&) override;
  spotmesh::Task<void> on_joined_actor(Runner& runner) override;
  spotmesh::Task<void> on_leave_actor(Runner& runner) override;
  spotmesh::Task<void> on_disconnect_actor(Runner& runner) override;
};

// A hall whose members read the news.
class Plaza final : public Hall {
 public:
  Plaza(spotmesh::SpotContext& context, Ledger& ledger);
  ~Plaza() override;
  static void handlers(spotmesh::Handlers<Plaza>& on);
  void hear(const Bulletin& bulletin);

 private:
  Ledger& ledger_;
  const Life life_;
};

// It closes when its last member has left.
class Room : public spotmesh::UserSpot<Runner> {
 public:
  Room(spotmesh::SpotContext& context, Ledger& ledger);
  ~Room() override;
  static void handlers(spotmesh::Handlers<Room>& on);

  spotmesh::Task<spotmesh::CreateDecision> on_create(const spotmesh::Message&) override;
  spotmesh::Task<spotmesh::JoinDecision> on_actor_join(std::string_view actor_id,
                                                       const spotmesh::Message& request) override;
  spotmesh::Task<void> on_joined_actor(Runner& runner) override;
  spotmesh::Task<void> on_leave_actor(Runner& runner) override;
  spotmesh::Task<void> on_disconnect_actor(Runner& runner) override;
  spotmesh::Task<void> on_closing(spotmesh::ClosingReason, spotmesh::Instant) override;
  Counted count(const Headcount&);

 protected:
  std::string gate() const;
  Ledger::Stretch stretch(std::string_view what);

  Ledger& ledger_;
  const Life life_;

 private:
  void check_members();

  std::vector<Life> inside_;  // by the callbacks
  bool has_closed_ = false;
};

// A room that stays until somebody closes it, and that hears what is going on.
class Club final : public Room {
 public:
  Club(spotmesh::SpotContext& context, Ledger& ledger);
  static void handlers(spotmesh::Handlers<Club>& on);

  spotmesh::Task<spotmesh::CreateDecision> on_create(const spotmesh::Message&) override;
  void hear(const Bulletin& bulletin);
};

class Link final : public spotmesh::Session {
 public:
  using Session::Session;
  static void handlers(spotmesh::SessionHandlers<Link>& on);
  spotmesh::Task<spotmesh::Result<LoggedIn>> log_in(const LogIn& log_in);
  spotmesh::Task<spotmesh::Result<HasQuit>> quit(const Quit& quit);
};

// What a run varies about the game.
struct GameLimits {
  std::uint32_t actors = 0;
  std::uint32_t spots = 0;
  std::uint32_t weight = 100;  // of each node in placement
};

void configure(spotmesh::Application& app, Ledger& ledger, GameLimits limits = {});
// The same without clients, and with Spots that listen.
void configure_apart(spotmesh::Application& app, Ledger& ledger, GameLimits limits = {});

}  // namespace probe
