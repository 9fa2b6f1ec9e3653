// SPDX-License-Identifier: Apache-2.0
//
// The mappings of another process, from its /proc/PID/maps.
//
// Context:  daemon | cli
// Owns:     nothing
// Promises: lines that are none are left out, never guessed
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::attach {

struct Mapping {
  std::uint64_t start = 0, end = 0, offset = 0;  // bytes
  bool readable = false, writable = false, executable = false, shared = false;
  std::uint64_t inode = 0;
  std::string path;  // as the kernel shows it, " (deleted)" included; "" for anonymous memory

  bool holds(std::uint64_t address) const { return address >= start && address < end; }
};

/// In address order.
using Maps = std::vector<Mapping>;

Maps parse_maps(std::string_view text);
/// Empty if the process is gone or may not be looked at.
Maps read_maps(pid_t pid);

/// The mapping that holds an address; null if none does.
const Mapping* mapping_of(const Maps& maps, std::uint64_t address);

/// File name without folder and without " (deleted)".
std::string_view file_name(const Mapping& mapping);

/// libc.so.6 or libc-2.31.so.
bool is_glibc(std::string_view name);
/// ld-linux-x86-64.so.2, ld-linux-aarch64.so.1, ld-2.31.so.
bool is_loader(std::string_view name);
/// musl's, which is C library and loader in one.
bool is_musl(std::string_view name);
/// An allocator that may replace the C library's: jemalloc, tcmalloc, mimalloc.
bool is_allocator(std::string_view name);

}  // namespace gpuprof::attach
