// One connection to another node: frames in, frames out. Inside this module only: it shows Asio.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <spotmesh/bytes.hpp>
#include <spotmesh/limits.hpp>

#include "mesh/transport.hpp"
#include "net/client_link.hpp"
#include "net/frame_cutter.hpp"

namespace spotmesh::net {

// The longest frame: a piece of a message, and room for what stands around it.
inline constexpr std::size_t longest_mesh_frame = limits::mesh_piece_bytes + 1024;

// What reads and writes is a link as clients have it; what is unsent is bounded by the mesh
// session's window. Lives until the link has told it of its end.
class MeshConnection final : public mesh::Connection, public stream::ClientLinkHandler {
 public:
  explicit MeshConnection(std::shared_ptr<AsioClientLink> link) : link_(std::move(link)) {}

  // Before the link starts.
  void set_handler(mesh::ConnectionHandler& handler) { handler_ = &handler; }

  void send(std::vector<SharedBytes> frames) override;
  void close(std::string reason) override;

  void on_bytes(ByteView bytes) override;
  void on_drained() override {}
  void on_closed(std::string_view reason) override;

 private:
  // Keeps the first one.
  void note_reason(std::string reason);

  const std::shared_ptr<AsioClientLink> link_;
  mesh::ConnectionHandler* handler_ = nullptr;
  FrameCutter cutter_{longest_mesh_frame};
  bool has_fault_ = false;
  std::mutex mutex_;
  std::string reason_;  // why this end closes it
};

}  // namespace spotmesh::net
