// SPDX-License-Identifier: Apache-2.0
//
// epoll with callbacks.
//
// Context:  daemon (one thread)
// Owns:     the epoll descriptor; not the watched ones
// Promises: a callback may unwatch any descriptor, also its own; a stale event calls nobody
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::session {

class EventLoop {
 public:
  using Callback = std::function<void(std::uint32_t events)>;
  using Watch = std::uint64_t;  // 0: none

  EventLoop();

  /// Calls `callback` when `fd` has one of `events` (EPOLLIN, …). 0 if it cannot be watched.
  Watch watch(int fd, std::uint32_t events, Callback callback);
  void change(Watch watch, std::uint32_t events);
  void unwatch(Watch watch);

  /// Waits at most `timeout_ms` (-1: for ever) and runs what is due.
  void run_once(int timeout_ms);

 private:
  struct Entry {
    int fd;
    Callback callback;
  };
  base::UniqueFd epoll_;
  Watch next_ = 1;
  std::unordered_map<Watch, Entry> entries_;
};

}  // namespace gpuprof::session
