// A TCP client for tests: plain system calls, one thread, nothing shared with what it tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spotmesh::testing {

class BlockingClient {
 public:
  // Connects to 127.0.0.1; `is_open()` says whether that worked.
  explicit BlockingClient(std::uint16_t port);
  BlockingClient(BlockingClient&& other) noexcept;
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;
  ~BlockingClient();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  // Everything, waiting for the server to read; false when the connection is gone.
  bool send(std::string_view bytes);
  // What one read brings; empty at the end of the stream or when it is reset. Gives up after
  // `patience`, which no passing test waits for.
  std::string receive_some();
  // Reads until what has been received since the last call ends with `mark`, contains it (the rest
  // is kept for the next call), or the stream ends.
  std::string receive_until(std::string_view mark);
  std::string receive_exactly(std::size_t bytes);
  // Until the server closes.
  std::string receive_all();
  // Whether the server has closed or reset the connection, after reading whatever is left.
  bool is_closed_by_server();

  void finish_sending();  // half-close
  void reset();           // closes with a reset
  void close();
  // So small that a server's writes soon have to wait. To be called before anything is received.
  void shrink_receive_buffer();

 private:
  int descriptor_ = -1;
  std::string kept_;
};

}  // namespace spotmesh::testing
