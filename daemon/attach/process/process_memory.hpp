// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the memory of another process.
//
// Context:  daemon | cli
// Owns:     a descriptor of its /proc/PID/mem
// Promises: all or nothing is reported; a process that is gone reads as false
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::attach {

class ProcessMemory {
 public:
  explicit ProcessMemory(pid_t pid);
  /// False: we may not look into that process (errno says why).
  explicit operator bool() const { return static_cast<bool>(fd_); }

  bool read(std::uint64_t address, void* to, std::size_t bytes) const;
  /// Also into memory the process itself may only execute, as debuggers do; a copy is made then,
  /// its file is not touched. `tid` is one we have stopped: where the kernel forbids the rest,
  /// words are written through it.
  bool write(std::uint64_t address, std::span<const std::uint8_t> bytes, pid_t tid) const;

  template <typename T>
  bool read(std::uint64_t address, T& value) const {
    return read(address, &value, sizeof value);
  }
  /// At most `bytes`, fewer where the memory ends.
  std::vector<std::uint8_t> read_some(std::uint64_t address, std::size_t bytes) const;
  /// Up to a NUL, at most `most` bytes.
  std::string read_text(std::uint64_t address, std::size_t most) const;

 private:
  base::UniqueFd fd_;
};

}  // namespace gpuprof::attach
