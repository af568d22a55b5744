// Bulletins: what has been published, and who has heard it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spotmesh/time.hpp>

#include "life.hpp"

namespace probe {

class Ledger;

inline constexpr std::string_view channel = "town";
// Every Spot hears the news, rooms hear the gossip too.
inline constexpr std::string_view news = "news";
inline constexpr std::string_view gossip = "gossip";

class Bulletins {
 public:
  explicit Bulletins(Ledger& ledger) : ledger_(ledger) {}

  void subscribes(const Life& spot, std::string_view topic);
  // Those of one life about one topic, numbered from 1. Published: its submit has said so.
  std::uint32_t next(const Life& from, const std::string& topic);
  void published(const Life& from, const std::string& topic, std::uint32_t number);
  void heard(const Life& spot, const Life& from, const std::string& topic, std::uint32_t number);
  std::size_t heard_by(const Life& spot) const;
  // From now on nothing fails: whoever lives through it hears everything.
  void set_peace() { is_peace_ = true; }
  // After everything has come to rest.
  void check_unheard() const;

 private:
  struct Line {
    std::uint32_t next = 1;
    std::map<Life, std::set<std::uint32_t>> heard;
    std::map<std::uint32_t, spotmesh::Duration> begun;     // in peace
    std::map<std::uint32_t, spotmesh::Duration> in_peace;  // and handed over; when they began
  };

  Ledger& ledger_;
  bool is_peace_ = false;
  std::map<std::string, std::vector<Life>, std::less<>> subscribers_;
  std::map<std::pair<Life, std::string>, Line> lines_;
};

}  // namespace probe
