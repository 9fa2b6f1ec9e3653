// SPDX-License-Identifier: Apache-2.0
//
// The thread that calls the program's host functions.
//
// Context:  one worker thread
// Owns:     functions between their turn and their return
// Promises: one function at a time, in the order of their turns, with no lock of ours held
// Not here: when a function's turn comes (stream_work.cpp)
#include <atomic>
#include <condition_variable>
#include <deque>
#include <utility>

#include "core/clock.hpp"
#include "core/work/stream_queue.hpp"

namespace gpusim {
namespace {

struct Call {
  HostFunction function;
  std::uint64_t due_ns;
  std::shared_ptr<std::atomic<std::uint64_t>> done_ns;
};

struct Worker {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Call> calls;
  bool started = false;
};

Worker& worker() {
  static auto* const w = new Worker;
  return *w;
}

Call next_call() {
  Worker& w = worker();
  std::unique_lock<std::mutex> lock(w.mutex);
  w.wake.wait(lock, [&] { return !w.calls.empty(); });
  Call call = std::move(w.calls.front());
  w.calls.pop_front();
  return call;
}

void* work(void*) {
  for (;;) {
    const Call call = next_call();
    wait_until(call.due_ns);
    call.function.call(call.function.user);
    call.done_ns->store(now_ns(), std::memory_order_release);
    pump();
  }
}

}  // namespace

void run_host_function(const HostFunction& function, std::uint64_t due_ns,
                       std::shared_ptr<std::atomic<std::uint64_t>> done_ns) {
  Worker& w = worker();
  bool start = false;
  {
    const std::lock_guard<std::mutex> lock(w.mutex);
    // Functions of several streams arrive in any order; the earliest is called first.
    auto at = w.calls.end();
    while (at != w.calls.begin() && std::prev(at)->due_ns > due_ns) --at;
    w.calls.insert(at, {function, due_ns, std::move(done_ns)});
    start = !w.started;
    w.started = true;
  }
  if (start) start_helper("gpusim-host", work);
  w.wake.notify_one();
}

}  // namespace gpusim
