#include "host/line_budget.hpp"

#include <algorithm>
#include <utility>

namespace spotmesh {

namespace {

constexpr double saved_up_seconds = 10;

}  // namespace

LineBudget::Verdict LineBudget::judge(std::string_view component, LogLevel level, Time now) {
  const auto per_second = static_cast<double>(per_second_);
  const double most = per_second * saved_up_seconds;
  Account& account =
      accounts_.try_emplace({component, level}, Account{.lines = most, .counted_at = now})
          .first->second;
  const double passed = std::chrono::duration<double>(now - account.counted_at).count();
  account.lines = std::min(most, account.lines + passed * per_second);
  account.counted_at = now;
  if (account.lines < 1) {
    ++account.left_out;
    return {.is_admitted = false};
  }
  account.lines -= 1;
  return {.is_admitted = true, .left_out = std::exchange(account.left_out, 0)};
}

std::vector<LineBudget::LeftOut> LineBudget::left_out() const {
  std::vector<LeftOut> all;
  for (const auto& [source, account] : accounts_) {
    if (account.left_out > 0) all.push_back({source.first, source.second, account.left_out});
  }
  return all;
}

}  // namespace spotmesh
