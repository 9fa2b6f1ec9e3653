// SPDX-License-Identifier: Apache-2.0
//
// epoll with callbacks.
//
// Context:  daemon (one thread)
#include "daemon/session/io/event_loop.hpp"

#include <sys/epoll.h>

#include <array>

namespace gpuprof::session {

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::Watch EventLoop::watch(int fd, std::uint32_t events, Callback callback) {
  const Watch id = next_++;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return 0;
  entries_.emplace(id, Entry{fd, std::move(callback)});
  return id;
}

void EventLoop::change(Watch watch, std::uint32_t events) {
  const auto at = entries_.find(watch);
  if (at == entries_.end()) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = watch;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, at->second.fd, &event);
}

void EventLoop::unwatch(Watch watch) {
  const auto at = entries_.find(watch);
  if (at == entries_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, at->second.fd, nullptr);
  entries_.erase(at);
}

void EventLoop::run_once(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    // A copy: the structure is packed, so that its number may lie anywhere.
    const Watch watch = event.data.u64;
    const auto at = entries_.find(watch);
    if (at == entries_.end()) continue;
    // A copy: the callback may remove its own entry.
    const Callback callback = at->second.callback;
    callback(event.events);
  }
}

}  // namespace gpuprof::session
