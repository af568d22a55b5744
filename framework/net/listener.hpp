// One listening socket. Inside this module only: it shows Asio.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <spotmesh/error.hpp>
#include <spotmesh/time.hpp>

#include "base/log.hpp"
#include "net/host_and_port.hpp"
#include "net/worker_pool.hpp"

namespace spotmesh::net {

struct ListenerOptions {
  HostAndPort where;      // port 0: any free one
  std::string who;        // connects, for the log: "client"
  Duration accept_pause;  // while the system has no descriptors
};

// Accepts on the pool's first worker and gives each connection to the worker that has the fewest.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // A socket of that worker's event loop; called on the first worker.
  using OnSocket = std::function<void(Worker&, boost::asio::ip::tcp::socket)>;

  Listener(WorkerPool& pool, ListenerOptions options, LogSink& log, OnSocket on_socket);

  // The port that is bound.
  Result<std::uint16_t> open();
  // A call of `on_socket` may still be under way when it has returned.
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
  const ListenerOptions options_;
  LogSink& log_;
  const OnSocket on_socket_;
  std::mutex mutex_;  // guards the acceptor and the timer: close() comes from any thread
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp protocol_ = boost::asio::ip::tcp::v4();  // which it was opened with
  boost::asio::steady_timer pause_;
  bool is_paused_ = false;
  unsigned accepted_ = 0;
};

}  // namespace spotmesh::net
