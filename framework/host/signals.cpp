#include "host/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include <spotmesh/error.hpp>

namespace spotmesh::host {

StopSignals::StopSignals() : stop_{}, awaited_{} {
  sigemptyset(&stop_);
  sigaddset(&stop_, SIGTERM);
  sigaddset(&stop_, SIGINT);
  struct sigaction hangup{};
  if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    sigaddset(&stop_, SIGHUP);
  }
  awaited_ = stop_;
  // A signal of its own for wake(): unlike SIGTERM it may stay pending for ever without harm.
  sigaddset(&awaited_, SIGRTMIN);
  if (const int fault = pthread_sigmask(SIG_BLOCK, &awaited_, nullptr); fault != 0) {
    throw ConfigurationError(std::string("signals cannot be blocked: ") + std::strerror(fault));
  }
  std::signal(SIGPIPE, SIG_IGN);
}

StopSignals::Heard StopSignals::wait() const {
  int signal = 0;
  while (sigwait(&awaited_, &signal) != 0) {
  }
  return signal == SIGRTMIN ? Heard::Wake : Heard::Stop;
}

void StopSignals::wake() const { kill(getpid(), SIGRTMIN); }

void StopSignals::restore() {
  // Whoever waits for a signal takes it away from its usual effect.
  sigemptyset(&awaited_);
  sigaddset(&awaited_, SIGRTMIN);
  pthread_sigmask(SIG_UNBLOCK, &stop_, nullptr);
}

}  // namespace spotmesh::host
