#include "bulletins.hpp"

#include <fmt/format.h>

#include "ledger.hpp"

namespace probe {

void Bulletins::subscribes(const Life& spot, std::string_view topic) {
  subscribers_[std::string(topic)].push_back(spot);
}

std::uint32_t Bulletins::next(const Life& from, const std::string& topic) {
  Line& line = lines_[{from, topic}];
  if (is_peace_) line.begun.emplace(line.next, ledger_.now());
  return line.next++;
}

void Bulletins::published(const Life& from, const std::string& topic, std::uint32_t number) {
  Line& line = lines_[{from, topic}];
  if (auto begun = line.begun.extract(number)) line.in_peace.insert(std::move(begun));
}

void Bulletins::heard(const Life& spot, const Life& from, const std::string& topic,
                      std::uint32_t number) {
  auto& heard = lines_[{from, topic}].heard[spot];
  if (!heard.empty() && number <= *heard.rbegin()) {
    ledger_.complain(fmt::format("{} heard bulletin {} of {} about {} after number {}",
                                 name_of(spot), number, name_of(from), topic, *heard.rbegin()));
  }
  heard.insert(number);
}

std::size_t Bulletins::heard_by(const Life& spot) const {
  std::size_t count = 0;
  for (const auto& [key, line] : lines_) {
    const auto heard = line.heard.find(spot);
    if (heard != line.heard.end()) count += heard->second.size();
  }
  return count;
}

void Bulletins::check_unheard() const {
  for (const auto& [key, line] : lines_) {
    const auto& [from, topic] = key;
    const auto subscribers = subscribers_.find(topic);
    if (subscribers == subscribers_.end() || !ledger_.is_living(from)) continue;
    for (const Life& spot : subscribers->second) {
      const auto ready = ledger_.ready_since(spot);
      if (!ready || !ledger_.is_living(spot)) continue;
      const auto heard = line.heard.find(spot);
      for (const auto& [number, when] : line.in_peace) {
        if (when < *ready) continue;
        if (heard != line.heard.end() && heard->second.contains(number)) continue;
        ledger_.complain(fmt::format("bulletin {} of {} about {} never reached {}", number,
                                     name_of(from), topic, name_of(spot)));
      }
    }
  }
}

}  // namespace probe
