// SPDX-License-Identifier: Apache-2.0
//
// Awkward behaviours of single records.
//
// Context:  application threads and the worker
// Owns:     the records held back by the shuffled scenario
// Promises: see scenario.hpp
// Not here: the list of names (core/scenarios.hpp)
#include "cupti/scenario.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <cupti.h>

#include "core/clock.hpp"
#include "core/config.hpp"
#include "cupti/buffers.hpp"
#include "cupti/clients.hpp"
#include "cupti/cupti_clock.hpp"
#include "cupti/delivery.hpp"
#include "cupti/state.hpp"

namespace gpusim {
namespace {

constexpr std::size_t kMaxExternal = 8;

/// What counting scenarios count.
struct Counts {
  std::atomic<std::uint64_t> device_records{0};
  std::atomic<std::uint64_t> kernel_records{0};
  std::atomic<std::uint64_t> api_records{0};
  std::atomic<std::uint64_t> callbacks{0};
  std::atomic<std::uint32_t> last_correlation{0};
};

struct KeptBack {
  std::mutex mutex;
  std::vector<Record> records;
};
KeptBack& kept_back() { return of_client<KeptBack>(); }

/// True for every ARG-th record of a scenario that is on.
bool hits(Scenario s, std::uint64_t number) {
  if (!on(s)) return false;
  const std::int64_t every = argument(s);
  return every > 0 && number % static_cast<std::uint64_t>(every) == 0;
}

/// True from the record behind the ARG-th on, where the scenario is on. `number` counts from 1.
bool deaf_by_now(Scenario s, std::uint64_t number) {
  return on(s) && number > static_cast<std::uint64_t>(argument(s));
}

/// Applies the scenarios that change times and ids. `number` counts device records from 1.
void spoil(DeviceOp& op, std::uint64_t number) {
  if (hits(Scenario::kZeroTimes, number)) op.start_ns = op.end_ns = 0;
  if (hits(Scenario::kNoEnd, number)) op.end_ns = 0;
  if (hits(Scenario::kEndBeforeStart, number) && op.end_ns > 0) op.end_ns = op.start_ns - 1000;
  if (on(Scenario::kPoolLimit) &&
      number > static_cast<std::uint64_t>(argument(Scenario::kPoolLimit)))
    op.start_ns = op.end_ns = 0;
  const std::uint32_t before = of_client<Counts>().last_correlation.exchange(op.correlation);
  if (hits(Scenario::kDupCorrelation, number) && before != 0) op.correlation = before;
}

/// Whether this device record is lost on purpose.
bool lost(std::uint64_t number) {
  if (hits(Scenario::kOrphanApi, number)) return true;
  if (on(Scenario::kDropped) &&
      number <= static_cast<std::uint64_t>(argument(Scenario::kDropped))) {
    state().dropped.fetch_add(1);
    return true;
  }
  return false;
}

const char* name_for(const DeviceOp& op) {
  if (!on(Scenario::kNamesFreed) || op.name == nullptr) return op.name;
  return strdup(op.name);  // freed by the buffer it ends up in
}

void append_extras(std::uint64_t number) {
  if (hits(Scenario::kUnknownRecord, number)) {
    const Record r = make_filler(kUnknownKind, 48);
    append(BufferOwner::kDevice, &r, 1);
  }
  if (config().layout == Layout::kFuture && number % 100 == 0) {
    const Record r = make_filler(kFutureKind, static_cast<std::uint32_t>(record_size(kFutureKind)));
    append(BufferOwner::kDevice, &r, 1);
  }
}

/// How long an API record is held, or 0.
std::uint64_t api_delay_ns() {
  std::int64_t ms = 0;
  if (on(Scenario::kGpuBeforeApi)) ms = argument(Scenario::kGpuBeforeApi);
  if (on(Scenario::kApiLate)) ms = argument(Scenario::kApiLate);
  return static_cast<std::uint64_t>(ms) * 1000000u;
}

}  // namespace

void deliver_operation(const DeviceOp& source, std::uint32_t kind) {
  apply_clock_scenarios();
  const std::uint64_t number = of_client<Counts>().device_records.fetch_add(1) + 1;
  if (lost(number)) return;
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
      deaf_by_now(Scenario::kDeafKernels, of_client<Counts>().kernel_records.fetch_add(1) + 1))
    return;
  DeviceOp op = source;
  spoil(op, number);
  const Record r = make_device_op(op, kind, name_for(op));
  if (on(Scenario::kShuffled) && number % 4 == 0) {
    const std::lock_guard<std::mutex> lock(kept_back().mutex);
    kept_back().records.push_back(r);
    if (kept_back().records.size() < 64) return;
    for (const Record& old : kept_back().records) append(BufferOwner::kDevice, &old, 1);
    kept_back().records.clear();
    return;
  }
  append(BufferOwner::kDevice, &r, 1);
  append_extras(number);
}

void deliver_api(const ApiCall& call) {
  apply_clock_scenarios();
  const std::uint64_t number = of_client<Counts>().api_records.fetch_add(1) + 1;
  if (hits(Scenario::kOrphanGpu, number) || deaf_by_now(Scenario::kDeafApi, number)) return;
  Record group[kMaxExternal];
  std::size_t n = 0;
  if (kind_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) {
    for (std::uint32_t kind = 1; kind < 6; ++kind) {
      std::uint64_t id = 0;
      if (top_external(kind, &id)) group[n++] = make_external(kind, id, call.correlation);
    }
  }
  group[n++] = make_api(call, record_thread_id());
  const std::uint64_t delay = api_delay_ns();
  if (delay == 0) {
    append(BufferOwner::kThread, group, n);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) defer_record(group[i], now_ns() + delay);
}

bool should_report_return() {
  if (!on(Scenario::kDeafApi)) return true;
  return !deaf_by_now(Scenario::kDeafApi, of_client<Counts>().api_records.fetch_add(1) + 1);
}

bool should_call_back() {
  if (!on(Scenario::kDeafCallbacks)) return true;
  const std::uint64_t number = of_client<Counts>().callbacks.fetch_add(1) + 1;
  return !deaf_by_now(Scenario::kDeafCallbacks, number);
}

void deliver_withheld() {
  const std::lock_guard<std::mutex> lock(kept_back().mutex);
  for (const Record& old : kept_back().records) append(BufferOwner::kDevice, &old, 1);
  kept_back().records.clear();
}

}  // namespace gpusim
