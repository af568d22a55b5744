#include "ledger.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace probe {

using spotmesh::Duration;

namespace {

constexpr std::size_t most_complaints = 20;
constexpr Duration longest_store_operation = std::chrono::seconds(60);

}  // namespace

std::string name_of(const Life& life) {
  return fmt::format("'{}' (generation {:x})", life.id, life.generation);
}

void Ledger::complain(std::string what) {
  if (complaints_.size() >= most_complaints) return;
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(now()).count();
  complaints_.push_back(fmt::format("{}.{:06} s: {}", at / 1'000'000, at % 1'000'000, what));
}

void Ledger::born(const Life& life) {
  if (!lives_.try_emplace(life).second) complain(name_of(life) + " was made twice");
}

void Ledger::ready(const Life& life) {
  Dates& dates = lives_[life];
  if (!dates.served) dates.served = now();
  if (std::exchange(dates.is_ready, true)) return;
  dates.ready = now();
}

void Ledger::died(const Life& life) { lives_[life].is_living = false; }

bool Ledger::is_living(const Life& life) const {
  const auto found = lives_.find(life);
  return found != lives_.end() && found->second.is_living;
}

std::optional<Duration> Ledger::ready_since(const Life& life) const {
  const auto found = lives_.find(life);
  if (found == lives_.end() || !found->second.is_ready) return std::nullopt;
  return found->second.ready;
}

void Ledger::gone(const Life& life) {
  auto& gone = lives_[life].gone;
  if (!gone) gone = now();
}

void Ledger::runs(const Life& life) {
  const auto found = lives_.find(life);
  if (found == lives_.end() || !found->second.gone) return;
  complain(name_of(life) + " runs a turn after somebody was told that it had ended");
}

void Ledger::found(const Life& life, Duration begun) {
  const auto known = lives_.find(life);
  if (known == lives_.end()) return complain(name_of(life) + " was found and has never been");
  if (!std::exchange(known->second.is_ready, true)) known->second.ready = now();
  const auto& gone = known->second.gone;
  if (!gone || *gone >= begun || is_forgotten(*gone)) return;
  complain(name_of(life) + " was found after somebody had been told that it had ended");
}

bool Ledger::is_forgotten(Duration told) const {
  // The record had gone before, as long as the answer was on its way; and an owner's word that it
  // still has it, given after a fail-over, may be on its way for as long as the store takes.
  const Duration gone = told - longest_store_operation;
  return std::ranges::any_of(cluster_->store_fail_overs(), [&](const auto& fail_over) {
    return fail_over.at >= gone && fail_over.at - fail_over.forgotten <= told;
  });
}

std::uint32_t Ledger::next_word(const Life& from, const std::string& to) {
  return pairs_[{from, to}].next++;
}

void Ledger::sent(const Life& from, const std::string& to, std::uint32_t number) {
  pairs_[{from, to}].sent.emplace(number, now());
}

void Ledger::received(const Life& from, const Life& to, std::uint32_t number) {
  Pair& pair = pairs_[{from, to.id}];
  if (number <= pair.last_received) {
    complain(fmt::format("word {} of {} reached {} after word {}", number, name_of(from),
                         name_of(to), pair.last_received));
  }
  pair.received.insert(number);
  pair.last_received = std::max(pair.last_received, number);
}

std::size_t Ledger::words_received(const Life& from, const Life& to) const {
  const auto pair = pairs_.find({from, to.id});
  return pair == pairs_.end() ? 0 : pair->second.received.size();
}

void Ledger::check_losses(Duration route_age) {
  for (const auto& [key, pair] : pairs_) {
    const auto& [from, to] = key;
    if (!is_living(from)) continue;
    for (const auto& [life, dates] : lives_) {
      if (life.id != to || !dates.is_living || !dates.served) continue;
      for (const auto& [number, when] : pair.sent) {
        // While an old route may still be remembered, a word may go to who lived there before.
        if (when < *dates.served + route_age || pair.received.contains(number)) continue;
        complain(fmt::format("word {} of {} was accepted and never reached {}", number,
                             name_of(from), name_of(life)));
      }
    }
  }
}

void Ledger::check_pending() {
  for (const std::string& what : pending_) complain(what + " does not end");
}

Ledger::Stretch::Stretch(Ledger& ledger, std::string gate, std::string_view what)
    : ledger_(ledger), gate_(std::move(gate)), what_(what) {
  enter();
}

void Ledger::Stretch::enter() {
  is_inside_ = ledger_.occupied_.insert(gate_).second;
  if (!is_inside_) {
    ledger_.complain(fmt::format("{} runs on gate {} beside another turn", what_, gate_));
  }
}

void Ledger::Stretch::leave() {
  if (std::exchange(is_inside_, false)) ledger_.occupied_.erase(gate_);
}

}  // namespace probe
