#include "mesh/link_end.hpp"

#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace spotmesh::mesh {

LinkEnd::Arrived LinkEnd::take() {
  std::lock_guard lock(mutex_);
  is_noted_ = false;
  unread_bytes_ = 0;
  return std::exchange(arrived_, {});
}

void LinkEnd::send(std::vector<SharedBytes> frames) {
  std::lock_guard lock(mutex_);
  if (connection_ != nullptr && !is_closing_) connection_->send(std::move(frames));
}

void LinkEnd::close(std::string reason) {
  std::lock_guard lock(mutex_);
  if (connection_ == nullptr || std::exchange(is_closing_, true)) return;
  connection_->close(std::move(reason));
}

void LinkEnd::on_up(Connection& connection) {
  bool is_new = false;
  {
    std::lock_guard lock(mutex_);
    connection_ = &connection;
    arrived_.is_up = true;
    is_new = note_locked();
  }
  if (is_new) owner_.on_arrived(*this);
}

void LinkEnd::on_dial_failed(Error error) {
  const runtime::Ref<LinkEnd> self(this);
  {
    std::lock_guard lock(mutex_);
    arrived_.dial_failure = error.message();
    if (!note_locked()) return;
  }
  owner_.on_arrived(*this);
}

void LinkEnd::on_frames(Connection& connection, std::vector<SharedBytes> frames) {
  bool is_new = false;
  {
    std::lock_guard lock(mutex_);
    if (is_closing_) return;
    for (const SharedBytes& frame : frames) unread_bytes_ += frame.size();
    if (unread_bytes_ > most_unread_.load(std::memory_order_relaxed)) {
      is_closing_ = true;
      connection.close(fmt::format("{} bytes have arrived that were not read yet", unread_bytes_));
      return;
    }
    arrived_.frames.insert(arrived_.frames.end(), std::make_move_iterator(frames.begin()),
                           std::make_move_iterator(frames.end()));
    is_new = note_locked();
  }
  if (is_new) owner_.on_arrived(*this);
}

void LinkEnd::on_down(Connection&, std::string reason) {
  const runtime::Ref<LinkEnd> self(this);
  {
    std::lock_guard lock(mutex_);
    connection_ = nullptr;
    arrived_.down = std::move(reason);
    if (!note_locked()) return;
  }
  owner_.on_arrived(*this);
}

}  // namespace spotmesh::mesh
