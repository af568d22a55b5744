// RequestTable: the unanswered requests of one client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <spotmesh/time.hpp>

#include "wire/request_seq.hpp"

namespace spotmesh::stream {

// Names one request for ever, while its seq may come again once it is answered.
struct RequestKey {
  wire::RequestSeq seq;
  std::uint64_t number = 0;
  bool is_one_way() const { return seq.is_one_way(); }
  friend bool operator==(const RequestKey&, const RequestKey&) = default;
};

// Not thread-safe. They are few, so a plain list finds them fastest.
class RequestTable {
 public:
  explicit RequestTable(std::size_t most) : most_(most) {}

  bool has(wire::RequestSeq seq) const;
  bool is_full() const { return pending_.size() >= most_; }
  // `seq` is not in the table, and the table is not full.
  RequestKey add(wire::RequestSeq seq, Instant deadline);
  bool has(const RequestKey& key) const;
  // Whoever removes the request answers it.
  bool remove(const RequestKey& key);
  // Removes one whose deadline is not after `now`.
  std::optional<wire::RequestSeq> take_expired(Instant now);
  std::optional<Instant> next_deadline() const;
  std::size_t size() const { return pending_.size(); }
  void clear() { pending_.clear(); }

 private:
  struct Pending {
    RequestKey key;
    Instant deadline;
  };

  const std::size_t most_;
  std::vector<Pending> pending_;  // in order of arrival, hence of their deadlines
  std::uint64_t last_number_ = 0;
  std::uint32_t highest_seq_ = 0;  // of all that were ever added: clients mostly count upwards
};

}  // namespace spotmesh::stream
