// Resident::Watch: what one call of a resident may come to, and how long it may take.
#pragma once

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "resident.hpp"
#include "speech.hpp"

namespace probe {

class Resident::Watch {
 public:
  Watch(Ledger& ledger, std::string_view who, std::string_view what,
        spotmesh::Duration patience = spotmesh::limits::default_operation_timeout)
      : ledger_(ledger),
        who_(who),
        what_(what),
        patience_(patience),
        begun_(ledger.now()),
        was_calm_(ledger.is_calm()),
        pending_(ledger, fmt::format("{} of {} since {} ms", what, who,
                                     begun_ / std::chrono::milliseconds(1))) {}

  spotmesh::Duration begun() const { return begun_; }
  template <typename T>
  void check(const spotmesh::Result<T>& result,
             std::optional<spotmesh::ErrorKind> also_expected = std::nullopt) const {
    constexpr spotmesh::Duration grace = std::chrono::milliseconds(500);
    const spotmesh::Duration taken = ledger_.now() - begun_;
    if (was_calm_ && taken > patience_ + grace) {
      ledger_.complain(fmt::format("{} of {} ended after {} ms; it had {} ms", what_, who_,
                                   taken / std::chrono::milliseconds(1),
                                   patience_ / std::chrono::milliseconds(1)));
    }
    if (result || is_expected(result.error()) || result.error().kind() == also_expected) return;
    ledger_.complain(fmt::format("{} of {} ended with {}", what_, who_, to_string(result.error())));
  }

 private:
  Ledger& ledger_;
  const std::string_view who_;
  const std::string_view what_;
  const spotmesh::Duration patience_;
  const spotmesh::Duration begun_;
  const bool was_calm_;
  const Ledger::Pending pending_;
};

}  // namespace probe
