#include "net/thread_setup.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

namespace spotmesh::net {

std::thread start_thread(std::string name, std::function<void()> body) {
  // A thread inherits the mask it is started under, so no signal can arrive before it is set.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread([name = std::move(name), body = std::move(body)]() noexcept {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    body();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace spotmesh::net
