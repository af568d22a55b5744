#include "testing/sim_store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::testing {

using location::Commit;
using location::CommitResult;
using location::ReadResult;
using location::ScanEntry;
using location::ScanPage;
using location::StoreEpoch;
using Outcome = location::CommitResult::Outcome;

struct SimStore::Session {
  struct Watch {
    std::string prefix;
    location::HintCallback hint;
  };

  std::string name;
  bool is_available = true;
  std::deque<UnknownCommit> forced;
  std::vector<SentCommit> late;
  std::vector<Watch> watches;
  // Ends each operation under way as if the process had died, by operation.
  std::map<std::uint64_t, std::function<void()>> under_way;
  std::uint64_t next_operation = 1;
};

namespace {

CommitResult without_effect(Outcome outcome, std::string message) {
  return {.outcome = outcome,
          .epoch = {},
          .versions = {},
          .failed_key = {},
          .message = std::move(message)};
}

}  // namespace

SimStore::SimStore(SimTime& time, Random& random, SimStoreBehavior behavior)
    : time_(time),
      random_(random),
      behavior_(behavior),
      epoch_{random.next_u64(), random.next_u64()} {}

std::unique_ptr<SimStore::Client> SimStore::connect(std::string name) {
  auto session = std::make_shared<Session>();
  session->name = std::move(name);
  sessions_.push_back(session);
  return std::unique_ptr<Client>(new Client(*this, std::move(session)));
}

void SimStore::fail_over(Duration forgotten) {
  const Instant horizon = time_.now() - forgotten;
  while (!memory_.empty() && memory_.back().when > horizon) {
    Undo& undo = memory_.back();
    if (undo.before) {
      entries_.insert_or_assign(std::move(undo.key), std::move(*undo.before));
    } else {
      entries_.erase(undo.key);
    }
    memory_.pop_back();
  }
  // What comes back counts on from what it remembers; only the epoch tells the two lives apart.
  counter_ = 0;
  for (const auto& [key, entry] : entries_) counter_ = std::max(counter_, entry.counter);
  epoch_ = {random_.next_u64(), random_.next_u64()};
  for (WorldObserver* observer : observers_) observer->on_fail_over(*this);
}

std::vector<ScanEntry> SimStore::contents(std::string_view prefix) const {
  std::vector<ScanEntry> found;
  for (auto it = entries_.lower_bound(prefix); it != entries_.end(); ++it) {
    if (!it->first.starts_with(prefix)) break;
    found.push_back({it->first, {it->second.value, version_of(it->second.counter)}});
  }
  return found;
}

const Bytes* SimStore::peek(std::string_view key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second.value;
}

void SimStore::plant(std::string key, Bytes value) {
  ++counter_;
  write({std::move(key), std::move(value)});
}

Duration SimStore::latency() {
  if (behavior_.strays_per_mille != 0 && chance(behavior_.strays_per_mille)) {
    return behavior_.stray_latency;
  }
  const Duration span = behavior_.max_latency - behavior_.min_latency;
  const auto steps = static_cast<std::uint64_t>(std::max<Duration::rep>(span.count(), 0)) + 1;
  return behavior_.min_latency + Duration(static_cast<Duration::rep>(random_below(random_, steps)));
}

Duration SimStore::commit_delay() {
  const unsigned late = behavior_.late_commits_per_mille;
  return late != 0 && chance(late) ? behavior_.late_commit_latency : Duration::zero();
}

bool SimStore::is_away(const Session& session) {
  return !is_available_ || !session.is_available || chance(behavior_.unavailable_per_mille);
}

// Applies what was left late: once a later operation is answered, nothing earlier may still come.
void SimStore::settle(Session& session) {
  for (const SentCommit& late : std::exchange(session.late, {})) apply(session, late);
}

std::optional<std::string> SimStore::failed_condition(const Commit& commit) const {
  if (commit.epoch && *commit.epoch != epoch_) return std::string();
  for (const location::Condition& condition : commit.conditions) {
    const auto found = entries_.find(condition.key);
    const bool holds =
        condition.version
            ? found != entries_.end() && version_of(found->second.counter) == *condition.version
            : found == entries_.end();
    if (!holds) return condition.key;
  }
  return std::nullopt;
}

void SimStore::write(const location::Write& write) {
  const auto found = entries_.find(write.key);
  const bool is_present = found != entries_.end();
  memory_.push_back(
      {time_.now(), write.key, is_present ? std::optional(found->second) : std::nullopt});
  if (write.value) {
    entries_.insert_or_assign(write.key, Entry{*write.value, counter_});
  } else if (is_present) {
    entries_.erase(found);
  }
  while (memory_.front().when + max_memory < time_.now()) memory_.pop_front();
}

CommitResult SimStore::apply(const Session& session, const SentCommit& sent) {
  const Commit& commit = sent.commit;
  CommitResult result;
  result.epoch = epoch_;
  if (auto failed = failed_condition(commit)) {
    result.outcome = Outcome::Conflict;
    result.failed_key = std::move(*failed);
    return result;
  }
  for (WorldObserver* observer : observers_) {
    observer->on_commit(*this, session.name, commit, sent.when);
  }
  ++counter_;
  ++commits_applied_;
  for (const location::Write& each : commit.writes) write(each);
  result.outcome = Outcome::Ok;
  result.versions.assign(commit.writes.size(), version_of(counter_));
  for (const location::Write& each : commit.writes) hint(each.key);
  return result;
}

CommitResult SimStore::execute_commit(const std::shared_ptr<Session>& session,
                                      const SentCommit& sent) {
  if (is_away(*session)) return without_effect(Outcome::Unavailable, "the store is away");
  if (!is_writable_) return without_effect(Outcome::Unavailable, "the store is locked");
  settle(*session);
  std::optional<UnknownCommit> unknown;
  if (!session->forced.empty()) {
    unknown = session->forced.front();
    session->forced.pop_front();
  } else if (chance(behavior_.unknown_per_mille)) {
    unknown = static_cast<UnknownCommit>(random_below(random_, 3));
  }
  if (!unknown) return apply(*session, sent);
  if (*unknown == UnknownCommit::Applied) apply(*session, sent);
  if (*unknown == UnknownCommit::Late) {
    session->late.push_back(sent);
    schedule(latency() + latency(), [this, session] { settle(*session); });
  }
  return without_effect(Outcome::Unknown, "the connection was lost before the answer");
}

Result<ReadResult> SimStore::execute_read(Session& session, const std::vector<std::string>& keys) {
  if (is_away(session)) return fail(Error::unavailable("the store is away"));
  settle(session);
  ReadResult result{epoch_, {}};
  for (const std::string& key : keys) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) {
      result.values.emplace_back(std::nullopt);
    } else {
      result.values.emplace_back(
          location::StoredValue{found->second.value, version_of(found->second.counter)});
    }
  }
  return result;
}

Result<ScanPage> SimStore::execute_scan(Session& session, const std::string& prefix,
                                        const std::string& cursor, std::size_t limit) {
  if (is_away(session)) return fail(Error::unavailable("the store is away"));
  settle(session);
  ScanPage page{epoch_, {}, {}};
  std::size_t bytes = 0;
  auto it = cursor < prefix ? entries_.lower_bound(prefix) : entries_.upper_bound(cursor);
  for (; it != entries_.end() && it->first.starts_with(prefix); ++it) {
    if (page.entries.size() == limit || bytes >= location::max_scan_page_bytes) {
      page.next = page.entries.back().key;
      break;
    }
    bytes += it->second.value.size();
    page.entries.push_back({it->first, {it->second.value, version_of(it->second.counter)}});
  }
  return page;
}

void SimStore::schedule(Duration delay, std::function<void()> job) {
  time_.at(time_.now() + delay, [alive = std::weak_ptr<bool>(is_alive_), job = std::move(job)] {
    if (!alive.expired()) job();
  });
}

void SimStore::hint(const std::string& key) {
  std::erase_if(sessions_, [](const auto& session) { return session.expired(); });
  const auto steps = static_cast<std::uint64_t>(behavior_.max_hint_delay.count()) + 1;
  for (const auto& weak : sessions_) {
    const auto session = weak.lock();
    for (std::size_t i = 0; i < session->watches.size(); ++i) {
      if (!key.starts_with(session->watches[i].prefix)) continue;
      if (chance(behavior_.lost_hints_per_mille)) continue;
      const int times = chance(behavior_.repeated_hints_per_mille) ? 2 : 1;
      for (int time = 0; time < times; ++time) {
        schedule(Duration(static_cast<Duration::rep>(random_below(random_, steps))),
                 [weak, i, key] {
                   const auto watcher = weak.lock();
                   if (watcher && i < watcher->watches.size()) watcher->watches[i].hint(key);
                 });
      }
    }
  }
}

template <typename Answer>
void SimStore::perform(std::shared_ptr<Session> session, std::function<void(Answer)> done,
                       Answer answer_at_end, Execute<Answer> execute, Duration held_up) {
  const std::uint64_t operation = session->next_operation++;
  auto shared_done = std::make_shared<std::function<void(Answer)>>(std::move(done));
  session->under_way.emplace(
      operation, [shared_done, answer = std::move(answer_at_end)] { (*shared_done)(answer); });
  schedule(held_up + latency(),
           [this, session, operation, shared_done, execute = std::move(execute)] {
             Answer answer = execute(session);
             schedule(latency(), [session, operation, shared_done, answer = std::move(answer)] {
               if (session->under_way.erase(operation) == 1) (*shared_done)(answer);
             });
           });
}

SimStore::Client::Client(SimStore& store, std::shared_ptr<Session> session)
    : store_(store), session_(std::move(session)) {}

SimStore::Client::~Client() {
  session_->watches.clear();
  for (auto& [operation, end] : std::exchange(session_->under_way, {})) end();
}

void SimStore::Client::read(std::vector<std::string> keys, location::ReadCallback done) {
  using Answer = Result<ReadResult>;
  store_.perform<Answer>(
      session_, std::move(done), fail(Error::unavailable("the store handle was closed")),
      [store = &store_, keys = std::move(keys)](const SharedSession& session) -> Answer {
        const std::string fault = location::fault_of_read(keys);
        if (!fault.empty()) return fail(Error::invalid_operation(fault));
        return store->execute_read(*session, keys);
      });
}

void SimStore::Client::commit(Commit commit, location::CommitCallback done) {
  store_.perform<CommitResult>(
      session_, std::move(done), without_effect(Outcome::Unknown, "the store handle was closed"),
      [store = &store_,
       sent = SentCommit{std::move(commit), store_.time_.now()}](const SharedSession& session) {
        std::string fault = location::fault_of_commit(sent.commit);
        if (!fault.empty()) return without_effect(Outcome::Malformed, std::move(fault));
        return store->execute_commit(session, sent);
      },
      store_.commit_delay());
}

void SimStore::Client::scan(std::string prefix, std::string cursor, std::size_t limit,
                            location::ScanCallback done) {
  using Answer = Result<ScanPage>;
  store_.perform<Answer>(session_, std::move(done),
                         fail(Error::unavailable("the store handle was closed")),
                         [store = &store_, prefix = std::move(prefix), cursor = std::move(cursor),
                          limit](const SharedSession& session) -> Answer {
                           const std::string fault = location::fault_of_scan(prefix, cursor, limit);
                           if (!fault.empty()) return fail(Error::invalid_operation(fault));
                           return store->execute_scan(*session, prefix, cursor, limit);
                         });
}

void SimStore::Client::watch(std::string prefix, location::HintCallback hint) {
  session_->watches.push_back({std::move(prefix), std::move(hint)});
}

std::string SimStore::Client::describe() const { return fmt::format("sim:{}", session_->name); }

void SimStore::Client::set_available(bool is_available) { session_->is_available = is_available; }

void SimStore::Client::make_next_unknown(UnknownCommit kind) { session_->forced.push_back(kind); }

}  // namespace spotmesh::testing
