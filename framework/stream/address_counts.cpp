#include "stream/address_counts.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace spotmesh::stream {

struct AddressCounts::Shared {
  struct Count {
    std::size_t places = 0;
    bool is_told = false;  // that it was refused
  };

  explicit Shared(std::size_t most) : told_anew_below(most / 2) {}

  const std::size_t told_anew_below;
  mutable std::mutex mutex;
  std::unordered_map<std::string, Count> counts;
};

AddressCounts::Place::~Place() {
  if (shared_ == nullptr) return;
  std::lock_guard lock(shared_->mutex);
  const auto found = shared_->counts.find(address_);
  if (--found->second.places <= shared_->told_anew_below) found->second.is_told = false;
  if (found->second.places == 0) shared_->counts.erase(found);
}

AddressCounts::AddressCounts(std::size_t most, const std::vector<std::string>& unbounded)
    : most_(most), unbounded_(unbounded), shared_(std::make_shared<Shared>(most)) {}

AddressCounts::~AddressCounts() = default;

std::optional<AddressCounts::Place> AddressCounts::take(std::string_view address) {
  if (most_ == 0 || address.empty() || std::ranges::find(unbounded_, address) != unbounded_.end()) {
    return Place();
  }
  std::string key(address);
  std::lock_guard lock(shared_->mutex);
  Shared::Count& count = shared_->counts[key];
  if (count.places >= most_) return std::nullopt;
  ++count.places;
  return Place(shared_, std::move(key));
}

bool AddressCounts::is_news(std::string_view address) {
  std::lock_guard lock(shared_->mutex);
  const auto found = shared_->counts.find(std::string(address));
  return found != shared_->counts.end() && !std::exchange(found->second.is_told, true);
}

std::size_t AddressCounts::count(std::string_view address) const {
  std::lock_guard lock(shared_->mutex);
  const auto found = shared_->counts.find(std::string(address));
  return found == shared_->counts.end() ? 0 : found->second.places;
}

}  // namespace spotmesh::stream
