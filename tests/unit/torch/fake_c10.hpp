// SPDX-License-Identifier: Apache-2.0
//
// What the fake libc10 shows to a test, found by dlsym.
//
// Context:  tests
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::fakes {

/// What the program's own profiler was told.
struct Heard {
  std::uint64_t address;
  std::int64_t bytes;
  std::uint64_t allocated, reserved;
  int device_type, device;
  bool operator==(const Heard&) const = default;
};

struct FakeC10 {
  const char* name;
  /// The allocator of the CPU took or gives back a block: asks whether someone listens, keeps one
  /// table of blocks, as PyTorch's does.
  void (*cpu_new)(std::uint64_t address, std::size_t bytes);
  void (*cpu_delete)(std::uint64_t address);
  /// An allocator that reports whoever listens.
  void (*cuda)(std::uint64_t address, std::int64_t bytes, std::size_t allocated,
               std::size_t reserved, int device);
  /// The program's own profiler listens on this thread.
  void (*listen)(bool on);
  const Heard* (*heard)(std::size_t* count);
  std::size_t (*unknown_sizes)();  // PyTorch would have complained on stderr
};

using GetFakeC10 = const FakeC10* (*)();  // "fake_c10"

}  // namespace gpuprof::fakes
