#include "net/readiness.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <spotmesh/error.hpp>

namespace spotmesh::net {

Readiness::Readiness()
    : descriptor_(epoll_create1(EPOLL_CLOEXEC)), outer_(epoll_create1(EPOLL_CLOEXEC)) {
  epoll_event nothing{};
  if (descriptor_ >= 0 && outer_ >= 0 &&
      epoll_ctl(outer_, EPOLL_CTL_ADD, descriptor_, &nothing) == 0) {
    return;
  }
  const int error = errno;
  close_both();
  throw ConfigurationError(fmt::format("a worker cannot have an epoll: {}", std::strerror(error)));
}

Readiness::~Readiness() { close_both(); }

void Readiness::close_both() {
  for (const int descriptor : {outer_, descriptor_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void Readiness::alert(bool is_on) {
  epoll_event event{};
  event.events = is_on ? EPOLLIN : 0;
  epoll_ctl(outer_, EPOLL_CTL_MOD, descriptor_, &event);
}

bool Readiness::add(int descriptor, Waiter& waiter) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &waiter;
  return epoll_ctl(descriptor_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Readiness::remove(int descriptor, const Waiter& waiter) {
  epoll_event ignored{};
  epoll_ctl(descriptor_, EPOLL_CTL_DEL, descriptor, &ignored);
  for (std::size_t i = next_; i < end_; ++i) {
    if (events_[i].data.ptr == &waiter) events_[i].data.ptr = nullptr;
  }
}

unsigned Readiness::tell() {
  const int found = epoll_wait(descriptor_, events_.data(), static_cast<int>(events_.size()), 0);
  end_ = static_cast<std::size_t>(std::max(0, found));
  for (next_ = 0; next_ < end_;) {
    const epoll_event& event = events_[next_++];
    if (event.data.ptr == nullptr) continue;
    const bool is_over = (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    static_cast<Waiter*>(event.data.ptr)
        ->on_ready(is_over || (event.events & EPOLLIN) != 0, (event.events & EPOLLOUT) != 0,
                   is_over);
  }
  return static_cast<unsigned>(end_);
}

}  // namespace spotmesh::net
