// The LocationStore of the simulator: a map on simulated time that can be slow, away, forgetful and
// unclear about what it did, all from the seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/time.hpp>

#include "base/random.hpp"
#include "location/store.hpp"
#include "testing/sim_time.hpp"
#include "testing/world_observer.hpp"

namespace spotmesh::testing {

// How the store behaves by itself; all of it may be changed while it runs. Chances are per mille of
// the operations.
struct SimStoreBehavior {
  // From the call to the execution, and again from the execution to the callback.
  Duration min_latency = std::chrono::microseconds(50);
  Duration max_latency = std::chrono::milliseconds(1);
  // Each of the two may instead take so long: a packet that was held up somewhere.
  unsigned strays_per_mille = 0;
  Duration stray_latency = std::chrono::seconds(30);
  // Of commits: so many take so long on their way to the store, whatever became of who sent them.
  unsigned late_commits_per_mille = 0;
  Duration late_commit_latency = std::chrono::seconds(30);
  unsigned unavailable_per_mille = 0;
  // Of commits: the outcome is Unknown; each of the three kinds of UnknownCommit is as likely.
  unsigned unknown_per_mille = 0;
  // Of hints.
  unsigned lost_hints_per_mille = 0;
  unsigned repeated_hints_per_mille = 0;
  Duration max_hint_delay = std::chrono::milliseconds(5);
};

// What happens to a commit whose outcome the caller does not learn.
enum class UnknownCommit : std::uint8_t {
  Applied,  // before the answer
  Late,     // after the answer, but before the next operation of that client is executed
  Lost      // never
};

// One store of a simulated cluster. Single-threaded, like all of the simulation.
class SimStore {
 public:
  class Client;

  // `time` and `random` outlive the store, and the store its clients.
  SimStore(SimTime& time, Random& random, SimStoreBehavior behavior = {});

  // The connection of one process.
  std::unique_ptr<Client> connect(std::string name);

  SimStoreBehavior& behavior() { return behavior_; }
  // Nothing is executed while the store is away; operations get Unavailable after their latency.
  void set_available(bool is_available) { is_available_ = is_available; }
  // Commits get Unavailable while reads are answered, as of a file that another process keeps
  // locked.
  void set_writable(bool is_writable) { is_writable_ = is_writable; }
  // A fail-over: the writes of the last `forgotten` are undone, the store shows a new epoch. At
  // most max_memory back.
  void fail_over(Duration forgotten);
  static constexpr Duration max_memory = std::chrono::seconds(120);

  // What the store holds at this moment, past all faults; for checkers.
  std::vector<location::ScanEntry> contents(std::string_view prefix) const;
  // One value of it; null when the key is absent. Valid until the next write.
  const Bytes* peek(std::string_view key) const;
  // Writes past everybody, as somebody with access to the store can.
  void plant(std::string key, Bytes value);
  // From now on `observer` is told of every commit that is applied; it outlives the store.
  void watch(WorldObserver& observer) { observers_.push_back(&observer); }
  location::StoreEpoch epoch() const { return epoch_; }
  std::uint64_t commits_applied() const { return commits_applied_; }

 private:
  struct Entry {
    Bytes value;
    std::uint64_t counter = 0;
  };
  struct Undo {
    Instant when;
    std::string key;
    std::optional<Entry> before;
  };
  struct SentCommit {
    location::Commit commit;
    Instant when;
  };
  // One client, living as long as anything of it is under way.
  struct Session;
  using SharedSession = std::shared_ptr<Session>;
  template <typename Answer>
  using Execute = std::function<Answer(const SharedSession&)>;

  bool chance(unsigned per_mille) { return random_below(random_, 1000) < per_mille; }
  Duration latency();
  Duration commit_delay();
  bool is_away(const Session& session);
  void settle(Session& session);
  location::CommitResult apply(const Session& session, const SentCommit& sent);
  std::optional<std::string> failed_condition(const location::Commit& commit) const;
  void write(const location::Write& write);
  location::CommitResult execute_commit(const SharedSession& session, const SentCommit& sent);
  Result<location::ReadResult> execute_read(Session& session, const std::vector<std::string>& keys);
  Result<location::ScanPage> execute_scan(Session& session, const std::string& prefix,
                                          const std::string& cursor, std::size_t limit);
  void hint(const std::string& key);
  location::StoreVersion version_of(std::uint64_t counter) const { return {epoch_, counter}; }
  void schedule(Duration delay, std::function<void()> job);
  // Runs `execute` after one latency and hands its result to `done` after another.
  template <typename Answer>
  void perform(SharedSession session, std::function<void(Answer)> done, Answer answer_at_end,
               Execute<Answer> execute, Duration held_up = Duration::zero());

  SimTime& time_;
  Random& random_;
  SimStoreBehavior behavior_;
  bool is_available_ = true;
  bool is_writable_ = true;
  location::StoreEpoch epoch_;
  std::uint64_t counter_ = 0;
  std::uint64_t commits_applied_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  std::deque<Undo> memory_;
  std::vector<std::weak_ptr<Session>> sessions_;
  std::vector<WorldObserver*> observers_;
  // Gone with the store, so that what is still under way then does nothing.
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

// The store as one process sees it. Its end answers all that is under way, as a process sees it
// that dies: what has been sent may still be applied, and nobody learns.
class SimStore::Client : public location::LocationStore {
 public:
  ~Client() override;

  void read(std::vector<std::string> keys, location::ReadCallback done) override;
  void commit(location::Commit commit, location::CommitCallback done) override;
  void scan(std::string prefix, std::string cursor, std::size_t limit,
            location::ScanCallback done) override;
  void watch(std::string prefix, location::HintCallback hint) override;
  std::string describe() const override;

  // This process alone loses the store.
  void set_available(bool is_available);
  // So happens to this client's next commit that reaches the store. May be called several times,
  // for several commits.
  void make_next_unknown(UnknownCommit kind);

 private:
  friend class SimStore;
  Client(SimStore& store, std::shared_ptr<Session> session);

  SimStore& store_;
  std::shared_ptr<Session> session_;
};

}  // namespace spotmesh::testing
