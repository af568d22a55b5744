#include "net/asio_client_links.hpp"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "net/connections.hpp"
#include "net/listener.hpp"
#include "net/opening.hpp"
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
        connections_(std::make_shared<Connections>(
            options.openings_at_once, [&log, most = options.openings_at_once] {
              log.write(
                  LogLevel::Warning, "net",
                  "more clients are opening connections than may at once: the oldest of them, "
                  "which have not said what they want, are cut",
                  {{"openings", std::to_string(most)}});
            })) {}

  Result<std::uint16_t> listen(const stream::ListenOptions& listen_options,
                               stream::LinkAcceptor& acceptor) {
    auto serving =
        std::make_shared<Serving>(listen_options, options_, acceptor, connections_, workers_, log_);
    auto listener = std::make_shared<Listener>(
        pool_,
        ListenerOptions{.where = {listen_options.host, listen_options.port},
                        .who = "client",
                        .accept_pause = options_.accept_pause},
        log_, [serving](Worker& worker, boost::asio::ip::tcp::socket socket) {
          begin_opening(worker, serving, std::move(socket));
        });
    auto port = listener->open();
    if (port) {
      std::lock_guard lock(mutex_);
      listening_.push_back({std::move(listener), std::move(serving)});
    }
    return port;
  }

  void stop_listening() {
    std::vector<Listening> ended;
    {
      std::lock_guard lock(mutex_);
      ended.swap(listening_);
    }
    for (auto& each : ended) {
      each.serving->gate.close();
      each.listener->close();
    }
  }

  void close() {
    stop_listening();
    connections_->abort_all();
  }

  std::size_t connections() const { return connections_->count(); }

 private:
  struct Listening {
    std::shared_ptr<Listener> listener;
    std::shared_ptr<Serving> serving;
  };

  WorkerPool& pool_;
  runtime::Workers& workers_;
  LogSink& log_;
  const ClientLinksOptions options_;
  const std::shared_ptr<Connections> connections_;
  std::mutex mutex_;
  std::vector<Listening> listening_;
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
