#include "net/asio_client_links.hpp"

#include <mutex>
#include <utility>
#include <vector>

#include "net/connections.hpp"
#include "net/listener.hpp"
#include "net/serving.hpp"
#include "net/worker_pool.hpp"

namespace spotmesh::net {

class AsioClientLinks::State {
 public:
  State(WorkerPool& pool, runtime::Workers& workers, LogSink& log, ClientLinksOptions options)
      : pool_(pool),
        workers_(workers),
        log_(log),
        options_(options),
        connections_(std::make_shared<Connections>(options.openings_at_once)) {}

  Result<std::uint16_t> listen(const stream::ListenOptions& listen_options,
                               stream::LinkAcceptor& acceptor) {
    auto listener = std::make_shared<Listener>(
        pool_, std::make_shared<Serving>(listen_options, options_, acceptor, connections_, workers_,
                                         log_));
    auto port = listener->open();
    if (port) {
      std::lock_guard lock(mutex_);
      listeners_.push_back(std::move(listener));
    }
    return port;
  }

  void stop_listening() {
    std::vector<std::shared_ptr<Listener>> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(listeners_);
    }
    for (auto& listener : ended) listener->close();
  }

  void close() {
    stop_listening();
    connections_->abort_all();
  }

  std::size_t connections() const { return connections_->count(); }

 private:
  WorkerPool& pool_;
  runtime::Workers& workers_;
  LogSink& log_;
  const ClientLinksOptions options_;
  const std::shared_ptr<Connections> connections_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

AsioClientLinks::AsioClientLinks(WorkerPool& pool, runtime::Workers& workers, LogSink& log,
                                 ClientLinksOptions options)
    : state_(std::make_unique<State>(pool, workers, log, options)) {}

AsioClientLinks::~AsioClientLinks() { close(); }

Result<std::uint16_t> AsioClientLinks::listen(const stream::ListenOptions& options,
                                              stream::LinkAcceptor& acceptor) {
  return state_->listen(options, acceptor);
}

void AsioClientLinks::stop_listening() { state_->stop_listening(); }

void AsioClientLinks::close() { state_->close(); }

std::size_t AsioClientLinks::connections() const { return state_->connections(); }

}  // namespace spotmesh::net
