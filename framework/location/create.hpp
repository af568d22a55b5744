// Creating an object: decide, choose a node, and at that node reserve, let the factory run, make it
// Ready or give it back. The transition table is framework/docs/creation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <spotmesh/ids.hpp>
#include <spotmesh/time.hpp>

#include "location/authority.hpp"
#include "location/create_events.hpp"
#include "location/create_request.hpp"
#include "location/machine.hpp"
#include "location/records.hpp"

namespace spotmesh::location {

class CreateMachine {
 public:
  enum class State : std::uint8_t {
    Idle,
    Reading,     // the authority is being read
    Waiting,     // somebody else creates, an owner is unproven, or the store is away
    Placing,     // ChoosePlace is unanswered
    Elsewhere,   // another node has been asked; its answer and its deadline are not seen here
    TakingSlot,  // TakeSlot is unanswered
    Reserving,   // the commit Missing → Creating is under way or unknown
    Running,     // the factory runs
    Publishing,  // the commit Creating → Ready is under way or unknown
    GivingBack,  // the commit that takes the reservation away is under way or unknown
    Done
  };

  // The environment outlives the machine.
  CreateMachine(CreateRequest request, const AuthorityEnvironment& environment);

  create::Actions on_event(const create::Event& event, Instant now);
  State state() const { return state_; }
  void note(StateNotes& notes) const;

 private:
  // What is under way in a state: at most one thing.
  enum class Waiting : std::uint8_t { Nothing, Read, Commit, Settle, Pause };

  void on(const create::Start& event, Instant now);
  void on(const ReadDone& event, Instant now);
  void on(const CommitDone& event, Instant now);
  void on(const TimerFired& event, Instant now);
  void on(const create::PlacedHere& event, Instant now);
  void on(const create::PlacedElsewhere& event, Instant now);
  void on(const create::NoPlace& event, Instant now);
  void on(const create::EndedElsewhere& event, Instant now);
  void on(const create::SlotTaken& event, Instant now);
  void on(const create::SlotRefused& event, Instant now);
  void on(const create::Accepted& event, Instant now);
  void on(const create::Rejected& event, Instant now);
  void on(const create::Failed& event, Instant now);
  void on(const create::Stop& event, Instant now);
  void on(const create::Withdrawn& event, Instant now);

  void read_anew();
  void read();
  void decide(Instant now);
  void decide_existing(Standing standing, Instant now);
  void replay(const TerminalRecord& terminal);
  void compete(Instant now);
  bool is_quiet(Instant now) const;
  void wait(Error reason, Instant now);
  void pause(Instant now);
  void resume(Instant now);
  void on_deadline(Instant now);

  AuthorityRecord reservation(ObjectGeneration generation) const;
  void reserve(Instant now);
  void submit(Commit commit);
  void settle();
  void on_settled(const ReadResult& result, Instant now);
  void on_reserved(const StoreVersion& version, Instant now);
  void on_reservation_lost(std::optional<Error> reason, Instant now);
  void publish(Instant now);
  void on_published(const StoreVersion& version);
  void fail_attempt(CreateOutcome outcome, Instant now);
  void give_back(Instant now);
  void note_vacant(const StoreVersion& version);
  void on_lease_lost();
  void on_malformed(std::string_view fault, Instant now);

  CreateOutcome failed(Error error) const;
  std::string text(std::string_view rest) const;
  void answer(CreateOutcome outcome);
  void finish(CreateOutcome outcome);
  void end();
  void leave_over(CreateOutcome outcome);
  void arm();

  CreateRequest request_;
  const AuthorityEnvironment& environment_;
  AuthorityReader reader_;
  State state_ = State::Idle;
  Waiting waiting_ = Waiting::Nothing;
  Ticket next_ticket_ = 1;
  Ticket awaited_ = 0;
  unsigned rounds_ = 0;    // of the reading under way
  unsigned failures_ = 0;  // pauses in a row
  Instant retry_at_{};
  Error reason_;  // what the operation waits for, if the deadline should come

  bool is_placed_here_ = false;  // since the last reading
  bool holds_slot_ = false;
  std::optional<ObjectGeneration> leftover_;
  std::optional<VacantRecord> vacant_;
  bool is_answered_ = false;
  bool is_past_deadline_ = false;
  std::optional<AuthorityRecord> record_;  // reserved or being reserved, then published
  StoreVersion reserved_version_;
  std::optional<Condition> spot_;
  std::optional<Bytes> written_;  // what the commit under way leaves at the key; empty: nothing
  bool is_unknown_ = false;       // the outcome of that commit
  std::optional<CreateOutcome> outcome_;  // decided, to be answered when given back
  create::Actions actions_;
};

}  // namespace spotmesh::location
