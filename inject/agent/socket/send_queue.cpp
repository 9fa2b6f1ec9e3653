// SPDX-License-Identifier: Apache-2.0
//
// A daemon that gets no processor reads nothing, and a socket holds some 200 messages.
//
// Context:  worker
#include "inject/agent/socket/send_queue.hpp"

#include <poll.h>
#include <string.h>

#include "gpuprof/base/clock.hpp"
#include "inject/hot/state.hpp"

namespace gpuprof::agent {

namespace {
constexpr int kLookMs = 10;
}  // namespace

void SendQueue::add_packet(Connection& to, std::size_t bytes) {
  flush(to);
  if (!has_pending() && to.try_send(packet_, bytes) == SendResult::kSent) return;
  ++(keep(bytes) ? waiting_ : lost_);
  publish();
}

bool SendQueue::keep(std::size_t bytes) {
  const auto size = static_cast<std::uint32_t>(bytes);
  if (kCapacityBytes - end_ < sizeof size + bytes) {
    memmove(capacity_, capacity_ + head_, end_ - head_);
    end_ -= head_;
    head_ = 0;
  }
  if (kCapacityBytes - end_ < sizeof size + bytes) return false;
  memcpy(capacity_ + end_, &size, sizeof size);
  memcpy(capacity_ + end_ + sizeof size, packet_, bytes);
  end_ += sizeof size + bytes;
  return true;
}

bool SendQueue::flush(Connection& to) {
  if (!has_pending()) return true;
  SendResult last = SendResult::kSent;
  while (has_pending()) {
    std::uint32_t size = 0;
    memcpy(&size, capacity_ + head_, sizeof size);
    last = to.try_send(capacity_ + head_ + sizeof size, size);
    if (last != SendResult::kSent) break;
    head_ += sizeof size + size;
    --waiting_;
  }
  if (!has_pending()) head_ = end_ = 0;
  publish();
  return last != SendResult::kPeerGone;
}

void SendQueue::drain(Connection& to, int timeout_ms) {
  const std::uint64_t deadline_ns =
      base::mono_ns() + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  while (flush(to) && has_pending() && base::mono_ns() < deadline_ns) {
    pollfd one{to.fd(), POLLOUT, 0};
    poll(&one, 1, kLookMs);
  }
  lost_ += waiting_;
  head_ = end_ = waiting_ = 0;
}

void SendQueue::publish() const {
  wire::Stats* stats = hot::g_state.stats;
  if (stats == nullptr) return;
  stats->counters[static_cast<std::uint32_t>(wire::Counter::kMessagesUnsent)].store(
      waiting_ + lost_, std::memory_order_relaxed);
}

}  // namespace gpuprof::agent
