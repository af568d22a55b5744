// What the objects of linked nodes have said to each other and heard, and whether that is the same.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <spotmesh/error.hpp>

namespace spotmesh::crossing_game {

// Residents live as long as their node: couriers, and the posts behind them. Everything else comes
// and goes under a few ids. Who lives where is the residents' number modulo that of their nodes.
inline constexpr int couriers = 8;
inline constexpr int posts = 6;
inline constexpr int residents = couriers + posts;
inline constexpr int wanderers = 8;
inline constexpr int tents = 6;

inline bool is_courier(int resident) { return resident < couriers; }
inline std::string name_of_resident(int resident) {
  return fmt::format("{}{}", is_courier(resident) ? "courier" : "post", resident);
}

// One resident's own, touched on its turns only: nothing of a test orders what threads do beyond
// what the runtime itself does.
struct Record {
  using Numbers = std::vector<std::int64_t>;
  std::array<std::int64_t, residents + wanderers + tents> last_number{};
  std::array<Numbers, residents> said;   // to whom, and was accepted
  std::array<Numbers, residents> heard;  // from whom
  Numbers published;
  std::array<Numbers, couriers> news;
  std::vector<std::string> faults;
};

struct Verdict {
  std::array<Record, residents> records;
  // The last number that a wanderer or tent has heard from a courier, in any of its lives.
  std::array<std::array<std::atomic<std::int64_t>, couriers>, wanderers + tents> met{};
  std::atomic<int> misorders{0};
  std::atomic<int> stray_deadlines{0};  // of guests: nothing but a deadline has ended it
  std::atomic<std::int64_t> meetings{0};
  std::atomic<std::int64_t> weathers{0};
  std::atomic<int> roaming{couriers};
  std::promise<void> has_roamed;

  // Relaxed, so that it is no order of its own between two threads.
  void meet(std::size_t whom, int courier, std::int64_t number) {
    auto& last = met.at(whom).at(static_cast<std::size_t>(courier));
    if (last.exchange(number, std::memory_order_relaxed) >= number) misorders.fetch_add(1);
    meetings.fetch_add(1, std::memory_order_relaxed);
  }
  void stop_roaming() {
    if (roaming.fetch_sub(1) == 1) has_roamed.set_value();
  }

  // When nothing runs any more.
  std::vector<std::string> faults() const {
    std::vector<std::string> all;
    const auto compare = [&](const char* what, int from, int to, const Record::Numbers& said,
                             const Record::Numbers& heard) {
      if (said == heard) return;
      all.push_back(fmt::format("{} of {} to {}: {} said, {} heard, or in another order", what,
                                name_of_resident(from), name_of_resident(to), said.size(),
                                heard.size()));
    };
    for (int from = 0; from < residents; ++from) {
      const Record& speaker = of(from);
      all.insert(all.end(), speaker.faults.begin(), speaker.faults.end());
      for (int to = 0; to < residents; ++to) {
        compare("messages", from, to, speaker.said.at(static_cast<std::size_t>(to)),
                of(to).heard.at(static_cast<std::size_t>(from)));
        if (!is_courier(from) || is_courier(to)) continue;
        compare("news", from, to, speaker.published,
                of(to).news.at(static_cast<std::size_t>(from)));
      }
    }
    return all;
  }
  const Record& of(int resident) const { return records.at(static_cast<std::size_t>(resident)); }
  Record& of(int resident) { return records.at(static_cast<std::size_t>(resident)); }
};

}  // namespace spotmesh::crossing_game
