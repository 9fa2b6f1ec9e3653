// SPDX-License-Identifier: Apache-2.0
//
// Which processors the worker may run on: those of the program's threads. The one that made it may
// be bound to a single processor, on which the worker would stand in its way.
//
// Context:  worker
// Owns:     when it last looked
// Promises: never a processor that none of the program's threads may use; no call that a filter may
//           forbid unless a thread is bound
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "inject/sample/threads/threads.hpp"

namespace gpuprof::sample {
namespace {

constexpr std::uint64_t kPeriodNs = 10'000'000'000;
// Of a pool of thousands the first say enough.
constexpr std::uint32_t kMaxThreads = 256;
constexpr std::size_t kWords = 8192 / (8 * sizeof(unsigned long));  // as many as a kernel can have

struct Processors {
  unsigned long bits[kWords] = {};
  std::uint32_t threads = 0;
};

bool read_affinity(long tid, unsigned long (&bits)[kWords]) {
  return ::syscall(SYS_sched_getaffinity, tid, sizeof bits, bits) > 0;
}

void add(ThreadEntry& entry, void* all) {
  auto& processors = *static_cast<Processors*>(all);
  unsigned long bits[kWords] = {};
  if (processors.threads == kMaxThreads || !read_affinity(entry.tid, bits)) return;
  ++processors.threads;
  for (std::size_t i = 0; i < kWords; ++i) processors.bits[i] |= bits[i];
}

constinit long g_tid = 0;
constinit std::uint64_t g_next_ns = 0;

}  // namespace

void update_affinity(std::uint64_t now_ns) {
  const long tid = ::syscall(SYS_gettid);
  // Each fork may make a new worker, with the affinity of the thread that forked.
  if (tid == g_tid && now_ns < g_next_ns) return;
  g_tid = tid;
  g_next_ns = now_ns + kPeriodNs;
  Processors processors;
  for_each_thread(add, &processors);
  unsigned long own[kWords] = {};
  if (processors.threads == 0 || !read_affinity(0, own)) return;
  if (memcmp(own, processors.bits, sizeof own) != 0)
    ::syscall(SYS_sched_setaffinity, 0, sizeof processors.bits, processors.bits);
}

}  // namespace gpuprof::sample
