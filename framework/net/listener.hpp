// One listening socket. Inside this module only: it shows Asio.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <mutex>

#include <spotmesh/error.hpp>

#include "net/serving.hpp"
#include "net/worker_pool.hpp"

namespace spotmesh::net {

// Accepts on the pool's first worker and gives each connection to the worker that has the fewest.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(WorkerPool& pool, std::shared_ptr<Serving> serving);

  Result<std::uint16_t> open();
  void close();

 private:
  Result<boost::asio::ip::tcp::endpoint> endpoint() const;
  void open_acceptor(const boost::asio::ip::tcp& protocol, boost::system::error_code& error);
  void accept_next();
  void accept();
  boost::system::error_code accept_into(boost::asio::ip::tcp::socket& socket);
  void pause(const boost::system::error_code& error);
  Worker& idlest_worker();

  WorkerPool& pool_;
  const std::shared_ptr<Serving> serving_;
  std::mutex mutex_;  // guards the acceptor and the timer: close() comes from any thread
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v4();  // which it was opened with
  boost::asio::steady_timer pause_;
  bool is_paused_ = false;
  unsigned accepted_ = 0;
};

}  // namespace spotmesh::net
