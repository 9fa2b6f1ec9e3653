// SPDX-License-Identifier: Apache-2.0
//
// A libc10 of nothing but its memory reports: calls its own exported functions as the real one
// does, through the table that a preloaded definition takes over.
//
// Context:  tests
#include "tests/unit/torch/fake_c10.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

#define EXPORT __attribute__((visibility("default"), noinline))

namespace c10 {
struct Device {
  std::int8_t type, index;
};
EXPORT bool memoryProfilingEnabled();
EXPORT void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                        std::size_t reserved, Device device);
class [[gnu::visibility("default")]] ProfiledCPUMemoryReporter {
 public:
  void New(void* block, std::size_t bytes);
  void Delete(void* block);

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t allocated_ = 0;
};
EXPORT ProfiledCPUMemoryReporter& profiledCPUMemoryReporter();
}  // namespace c10

namespace {

using gpuprof::fakes::FakeC10;
using gpuprof::fakes::Heard;

thread_local bool t_listening = false;
std::mutex g_mutex;
std::size_t g_unknown = 0;
std::vector<Heard> g_heard;
volatile int g_after;

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void cpu_new(std::uint64_t address, std::size_t bytes) {
  c10::profiledCPUMemoryReporter().New(pointer(address), bytes);
  g_after = 1;
}

void cpu_delete(std::uint64_t address) {
  c10::profiledCPUMemoryReporter().Delete(pointer(address));
  g_after = 1;
}

void cuda(std::uint64_t address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
          int device) {
  c10::reportMemoryUsageToProfiler(pointer(address), bytes, allocated, reserved,
                                   {1, static_cast<std::int8_t>(device)});
  g_after = 1;  // a last call would be a jump, and the caller another
}

void listen(bool on) { t_listening = on; }

const Heard* heard(std::size_t* count) {
  *count = g_heard.size();
  return g_heard.data();
}

std::size_t unknown_sizes() { return g_unknown; }

}  // namespace

void c10::ProfiledCPUMemoryReporter::New(void* block, std::size_t bytes) {
  if (!memoryProfilingEnabled()) return;
  std::size_t allocated;
  {
    const std::lock_guard lock(mutex_);
    sizes_[block] = bytes;
    allocated = allocated_ += bytes;
  }
  reportMemoryUsageToProfiler(block, static_cast<std::int64_t>(bytes), allocated, 0, {0, -1});
}

void c10::ProfiledCPUMemoryReporter::Delete(void* block) {
  if (!memoryProfilingEnabled()) return;
  std::size_t bytes, allocated;
  {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) {
      ++g_unknown;
      return;
    }
    bytes = found->second;
    allocated = allocated_ -= bytes;
    sizes_.erase(found);
  }
  reportMemoryUsageToProfiler(block, -static_cast<std::int64_t>(bytes), allocated, 0, {0, -1});
}

c10::ProfiledCPUMemoryReporter& c10::profiledCPUMemoryReporter() {
  static ProfiledCPUMemoryReporter reporter;
  return reporter;
}

bool c10::memoryProfilingEnabled() { return t_listening; }

void c10::reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                      std::size_t reserved, Device device) {
  if (!t_listening) return;
  const std::lock_guard lock(g_mutex);
  g_heard.push_back({reinterpret_cast<std::uintptr_t>(address), bytes, allocated, reserved,
                     device.type, device.index});
}

extern "C" EXPORT const FakeC10* fake_c10() {
  static const FakeC10 table{FAKE_NAME, cpu_new, cpu_delete, cuda, listen, heard, unknown_sizes};
  return &table;
}
