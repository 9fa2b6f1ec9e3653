// SPDX-License-Identifier: Apache-2.0
//
// A library beside a libc10, which reports memory to the one it is linked with. Its constructor may
// wait for a thread that reports: the loader's lock is held meanwhile.
//
// Context:  tests
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>

static volatile int g_after;

namespace c10 {
struct Device {
  std::int8_t type, index;
};
void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device);
}  // namespace c10

extern "C" __attribute__((visibility("default"))) void extension_reports(std::uint64_t address) {
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), 64, 64, 128, {1, 0});
  g_after = 1;  // a last call would be a jump, and the caller ours
}

__attribute__((constructor)) static void on_load() {
  if (std::getenv("FAKE_EXTENSION_WAITS") == nullptr) return;
  std::thread([] { extension_reports(0x5000); }).join();
}
