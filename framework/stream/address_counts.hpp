// AddressCounts: how many connections come from one address.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spotmesh::stream {

// Any thread. Takes memory only for addresses that are here.
class AddressCounts {
 public:
  // Counts for its address until it goes. Outlives the AddressCounts if need be.
  class Place;

  // At most `most` of one address, 0 for any number. Those in `unbounded` are not counted: proxies,
  // behind which there are many.
  AddressCounts(std::size_t most, const std::vector<std::string>& unbounded);
  ~AddressCounts();

  // Nothing when there are as many of this address as there may be.
  std::optional<Place> take(std::string_view address);
  // Whether this refusal of an address is to be told: the first, and the first again once half of
  // its places were free.
  bool is_news(std::string_view address);
  std::size_t count(std::string_view address) const;

 private:
  struct Shared;
  const std::size_t most_;
  const std::vector<std::string> unbounded_;
  const std::shared_ptr<Shared> shared_;
};

class AddressCounts::Place {
 public:
  Place() = default;  // of nobody
  Place(Place&& other) noexcept = default;
  Place& operator=(Place&& other) = delete;
  ~Place();

 private:
  friend class AddressCounts;
  Place(std::shared_ptr<Shared> shared, std::string address)
      : shared_(std::move(shared)), address_(std::move(address)) {}

  std::shared_ptr<Shared> shared_;
  std::string address_;
};

}  // namespace spotmesh::stream
