// SPDX-License-Identifier: Apache-2.0
//
// See graph_devices.hpp.
//
// Context:  callback
#include "inject/cupti/activity/graph_devices.hpp"

#include <atomic>

namespace gpuprof::cupti {

namespace {

constexpr std::uint32_t kContexts = 64, kLaunches = 1024;
constexpr std::uint64_t kLow = 0xffffffff;

// What it is about above, the answer below; 0: nothing. An id of 0 is nobody's.
constinit std::atomic<std::uint64_t> g_devices[kContexts] = {};
constinit std::atomic<std::uint64_t> g_launches[kLaunches] = {};

constexpr std::uint64_t pair(std::uint32_t of, std::uint32_t answer) {
  return std::uint64_t{of} << 32 | answer;
}

bool find(const std::atomic<std::uint64_t>& place, std::uint32_t of, std::uint32_t* answer) {
  const std::uint64_t held = place.load(std::memory_order_relaxed);
  if (of == 0 || held >> 32 != of) return false;
  *answer = static_cast<std::uint32_t>(held & kLow);
  return true;
}

}  // namespace

void record_context(std::uint32_t context, std::uint32_t device) {
  g_devices[context % kContexts].store(pair(context, device), std::memory_order_relaxed);
}

void record_graph_launch(std::uint32_t correlation, std::uint32_t context) {
  g_launches[correlation % kLaunches].store(pair(correlation, context), std::memory_order_relaxed);
}

bool find_graph_device(std::uint32_t correlation, std::uint32_t* device, std::uint32_t* context) {
  std::uint32_t found = 0;
  if (!find(g_launches[correlation % kLaunches], correlation, &found)) return false;
  if (!find(g_devices[found % kContexts], found, device)) return false;
  *context = found;
  return true;
}

}  // namespace gpuprof::cupti
