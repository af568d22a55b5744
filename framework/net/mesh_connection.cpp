#include "net/mesh_connection.hpp"

#include <utility>

namespace spotmesh::net {

void MeshConnection::note_reason(std::string reason) {
  std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = std::move(reason);
}

void MeshConnection::send(std::vector<SharedBytes> frames) {
  link_->send(with_prefixes(std::move(frames)));
}

void MeshConnection::close(std::string reason) {
  note_reason(std::move(reason));
  link_->close_after_flush();
}

void MeshConnection::on_bytes(ByteView bytes) {
  if (has_fault_) return;
  std::vector<SharedBytes> frames;
  const auto taken = cutter_.take(bytes, frames);
  if (!frames.empty()) handler_->on_frames(*this, std::move(frames));
  if (taken) return;
  has_fault_ = true;
  note_reason(taken.error().message());
  link_->abort();
}

void MeshConnection::on_closed(std::string_view reason) {
  std::string text;
  {
    std::lock_guard lock(mutex_);
    text = std::move(reason_);
  }
  handler_->on_down(*this, text.empty() ? std::string(reason) : std::move(text));
}

}  // namespace spotmesh::net
