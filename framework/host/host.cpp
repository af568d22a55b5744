#include <spotmesh/host.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "host/admin.hpp"
#include "host/event_ring.hpp"
#include "host/file_limit.hpp"
#include "host/host_settings.hpp"
#include "host/log_sink.hpp"
#include "host/signals.hpp"
#include "host/store_url.hpp"
#include "host/system_limits.hpp"
#include "net/asio_client_links.hpp"
#include "net/asio_mesh_transport.hpp"
#include "net/http_server.hpp"
#include "net/os_random.hpp"
#include "net/system_clock.hpp"
#include "net/thread_workers.hpp"
#include "net/worker_pool.hpp"
#include "node/node.hpp"

namespace spotmesh {
namespace {

constexpr int exit_failed = 1;
constexpr int exit_misconfigured = 2;
// Beside those of sessions: clients that are still opening, the store, the log, worker threads.
constexpr std::size_t other_open_files = 2048;

std::vector<std::string> flags_of(int argc, const char* const* argv) {
  return {argv + std::min(argc, 1), argv + argc};
}

Settings::Environment environment_of_process() {
  Settings::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const char* equals = std::strchr(*entry, '=');
    if (equals != nullptr)
      environment.emplace(std::string(*entry, static_cast<std::size_t>(equals - *entry)),
                          equals + 1);
  }
  return environment;
}

// A mistake in the configuration ends main() here, in words instead of a core dump.
[[noreturn]] void end_process() {
  if (const auto failure = std::current_exception()) {
    try {
      std::rethrow_exception(failure);
    } catch (const ConfigurationError& error) {
      fmt::print(stderr, "error: {}\n", error.what());
      std::_Exit(exit_misconfigured);
    } catch (const std::exception& error) {
      fmt::print(stderr, "fatal: {}\n", error.what());
    } catch (...) {
      fmt::print(stderr, "fatal: an exception of unknown type\n");
    }
  }
  std::abort();
}

LogSinkOptions log_options(const host::LogSettings& settings) {
  LogSinkOptions options;
  if (settings.level == "debug") options.lowest = LogLevel::Debug;
  if (settings.level == "warning") options.lowest = LogLevel::Warning;
  if (settings.level == "error") options.lowest = LogLevel::Error;
  options.format = settings.format == "json" ? LogFormat::Json : LogFormat::Text;
  options.file = settings.file;
  options.lines_per_second = settings.lines_per_second;
  return options;
}

node::NodeOptions node_options(const host::HostSettings& settings) {
  node::NodeOptions options;
  options.prefix = settings.node.prefix;
  options.objects.application_version = settings.node.version;
  options.objects.lease = {.renew_interval = settings.location.renew_interval,
                           .ttl = settings.location.ttl,
                           .renew_timeout = settings.location.renew_timeout,
                           .margin = settings.location.margin};
  options.mesh.cluster = settings.mesh.cluster;
  options.mesh.secret = settings.mesh.secret;
  options.mesh.listen_address = settings.mesh.listen;
  options.mesh.advertised_address = settings.mesh.advertise;
  options.stream = settings.stream.bounds;
  options.listen.host = settings.stream.host;
  options.listen.port = settings.stream.port;
  options.listen.static_directory = settings.stream.static_directory;
  options.listen.allowed_origins = settings.stream.allowed_origins;
  if (settings.stream.tcp) {
    options.tcp_listen =
        stream::ListenOptions{.host = settings.stream.tcp->host, .port = settings.stream.tcp->port};
  }
  return options;
}

// What a program says of a node's share holds for every node that runs it; an operator says it of
// one.
void set_placement_weight(Application& application, std::uint32_t weight) {
  for (const auto& mesh : application.model().meshes) {
    if (mesh->server) application.mesh(mesh->name).object_server().placement_weight(weight);
  }
}

// Whether the setting is wrong, rather than the store that it names in trouble.
bool names_no_store(const Error& error) {
  const ErrorKind kind = error.kind();
  return kind == ErrorKind::NotConfigured || kind == ErrorKind::InvalidOperation ||
         kind == ErrorKind::NotFound;
}

std::string authority(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return fmt::format("{}:{}", is_v6 ? "[" + address + "]" : address, port);
}

void print_ready(const node::Node& node, const host::HostSettings& chosen) {
  const std::uint16_t port = node.stream_port();
  const std::string clients = authority(chosen.stream.host, port);
  fmt::print("ready: node {}", node.identity().rid.text);
  if (port != 0) fmt::print(", clients at ws://{}/stream", clients);
  if (node.tcp_port() != 0) {
    fmt::print(", and at tcp://{}", authority(chosen.stream.tcp->host, node.tcp_port()));
  }
  if (port != 0 && !chosen.stream.static_directory.empty()) {
    fmt::print(", page at http://{}/", clients);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

// What main() waits for: the node and the operator speak from other threads.
struct Waking {
  explicit Waking(host::StopSignals& woken) : signals(woken) {}

  template <typename Change>
  void tell(Change change) {
    const std::scoped_lock lock(mutex);
    change(*this);
    signals.wake();
  }

  host::StopSignals& signals;
  std::mutex mutex;  // the following
  std::optional<Result<void>> started;
  std::optional<std::string> lost;
  std::optional<Duration> stop_deadline;  // set: an operator has told the node to stop
  bool is_stopped = false;

  Duration deadline_or(Duration configured) {
    const std::scoped_lock lock(mutex);
    return stop_deadline.value_or(configured);
  }
};

}  // namespace

struct Host::Parts {
  Parts(int argc, const char* const* argv)
      : settings(flags_of(argc, argv), environment_of_process()) {}

  int serve(const host::HostSettings& chosen);
  int run_node(node::Node& node, LogSink& log, host::EventRing& events,
               const host::HostSettings& chosen);
  // Why the node is to stop: by a signal, or by itself.
  struct End {
    int code = 0;
    bool is_signalled = false;
  };
  End wait_for_end(const node::Node& node, Waking& waking, const host::HostSettings& chosen);
  void stop_node(node::Node& node, Waking& waking, LogSink& log, Duration deadline);

  host::StopSignals signals;
  Settings settings;
  Application application;
};

Host::Host(int argc, const char* const* argv) {
  std::set_terminate(end_process);
  parts_ = std::make_unique<Parts>(argc, argv);
}

Host::~Host() = default;

Settings& Host::settings() { return parts_->settings; }

Application& Host::application() { return parts_->application; }

Mesh& Host::mesh(std::string_view name, std::source_location where) {
  return parts_->application.mesh(name, where);
}

Stream& Host::stream(std::string_view name, std::source_location where) {
  return parts_->application.stream(name, where);
}

int Host::run() {
  try {
    const host::HostSettings chosen = host::read_host_settings(parts_->settings);
    if (parts_->settings.wants_help()) {
      fmt::print("{}", parts_->settings.help());
      return 0;
    }
    parts_->settings.check();
    if (parts_->settings.wants_print()) {
      fmt::print("{}", parts_->settings.effective());
      return 0;
    }
    return parts_->serve(chosen);
  } catch (const ConfigurationError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return exit_misconfigured;
  }
}

int Host::Parts::serve(const host::HostSettings& chosen) {
  const std::string& folder = chosen.stream.static_directory;
  if (std::error_code error; !folder.empty() && !std::filesystem::is_directory(folder, error)) {
    throw ConfigurationError(
        fmt::format("stream.static_directory: there is no folder '{}'", folder));
  }
  if (const auto weight = chosen.node.placement_weight) set_placement_weight(application, *weight);
  const objects::FrozenApplication frozen(application);
  SpdlogSink log(log_options(chosen.log));
  host::allow_open_files(chosen.stream.bounds.sessions + other_open_files, log);
  host::tell_system_limits(log);
  net::SystemClock clock;
  host::EventRing events(log, clock);
  net::OsRandom random;
  net::WorkerPool pool({.threads = chosen.node.workers});
  net::ThreadWorkers workers;
  // After the pool: what still waits for the store when it is closed ends only then, and with it
  // timers of the pool.
  const auto store = host::open_store(chosen.location, log);
  if (!store) {
    fmt::print(stderr, "error: location.store: {}\n", store.error().message());
    return names_no_store(store.error()) ? exit_misconfigured : exit_failed;
  }
  net::AsioClientLinks links(pool, workers, log,
                             {.opening_time = chosen.stream.bounds.handshake_timeout,
                              .openings_at_once = chosen.stream.bounds.handshakes});
  std::optional<net::AsioMeshTransport> transport;
  if (!chosen.mesh.listen.empty()) transport.emplace(pool, log);
  node::Node node(frozen,
                  {.clock = clock,
                   .scheduler = pool,
                   .timers = pool,
                   .workers = workers,
                   .random = random,
                   .log = log,
                   .events = events,
                   .store = store->get(),
                   .client_links = &links,
                   .transport = transport ? &*transport : nullptr},
                  node_options(chosen));
  const int code = run_node(node, log, events, chosen);
  // The node's last callbacks may still be returning on the pool's threads.
  links.close();
  if (transport) transport->close();
  workers.stop();
  pool.stop();
  return code;
}

int Host::Parts::run_node(node::Node& node, LogSink& log, host::EventRing& events,
                          const host::HostSettings& chosen) {
  Waking waking(signals);
  const Duration configured = chosen.node.stop_deadline;
  host::Admin admin(
      {.node = node,
       .log = log,
       .events = events,
       .shut_down =
           [&](std::optional<Duration> deadline) {
             waking.tell([&](Waking& told) { told.stop_deadline = deadline.value_or(configured); });
           }},
      chosen.admin.token);
  net::HttpServer server({.address = chosen.admin.address, .port = chosen.admin.port}, admin, log);
  if (!chosen.admin.address.empty()) {
    const auto port = server.start();
    if (!port) {
      fmt::print(stderr,
                 "error: the admin endpoint: {}; set admin.listen to another address, to "
                 "127.0.0.1:0 for any free port, or to \"\" for none\n",
                 port.error().message());
      return exit_failed;
    }
    fmt::print("admin: http://{}/\n", authority(chosen.admin.address, *port));
    std::fflush(stdout);
  }
  node.on_lost([&](std::string reason) {
    waking.tell([&](Waking& told) { told.lost = std::move(reason); });
  });
  node.start([&](Result<void> outcome) {
    waking.tell([&](Waking& told) { told.started = std::move(outcome); });
  });
  const End end = wait_for_end(node, waking, chosen);
  if (end.is_signalled) signals.restore();
  stop_node(node, waking, log, waking.deadline_or(configured));
  return end.code;
}

// Waits, woken by what the node reports, until the process is told to stop, the node could not
// start or it is lost.
Host::Parts::End Host::Parts::wait_for_end(const node::Node& node, Waking& waking,
                                           const host::HostSettings& chosen) {
  bool is_ready = false;
  while (signals.wait() == host::StopSignals::Heard::Wake) {
    const std::scoped_lock lock(waking.mutex);
    if (waking.lost) {
      fmt::print(stderr, "error: this node lost its lease and stops: {}\n", *waking.lost);
      return {.code = exit_failed};
    }
    if (waking.stop_deadline) return {};
    if (!waking.started) continue;
    if (!*waking.started) {
      fmt::print(stderr, "error: the node could not start: {}\n",
                 to_string(waking.started->error()));
      return {.code = exit_failed};
    }
    if (!std::exchange(is_ready, true)) print_ready(node, chosen);
  }
  return {.is_signalled = true};
}

// The first signal asks for a stop, which is under way when the node ends by itself; only the
// second one ends the process at once.
void Host::Parts::stop_node(node::Node& node, Waking& waking, LogSink& log, Duration deadline) {
  node.stop(deadline, [&] { waking.tell([](Waking& told) { told.is_stopped = true; }); });
  while (true) {
    if (signals.wait() == host::StopSignals::Heard::Stop) {
      signals.restore();
      log.write(LogLevel::Info, "host",
                "the node stops already; another signal ends it on the spot", {});
      continue;
    }
    const std::scoped_lock lock(waking.mutex);
    if (waking.is_stopped) return;
  }
}

}  // namespace spotmesh
