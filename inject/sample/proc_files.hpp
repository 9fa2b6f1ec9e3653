// SPDX-License-Identifier: Apache-2.0
//
// Small reads from /proc/self, and descriptors at the top of the range.
//
// Context:  worker
// Promises: every descriptor is close-on-exec; one that stays open is moved out of the low
//           numbers a program expects for itself
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace gpuprof::sample {

/// Reads a whole small file into `to`, ends it with NUL. Returns bytes without the NUL, -1 if it
/// cannot be opened.
ssize_t read_small_file(const char* path, char* to, std::size_t room);

/// Path of /proc/self/task/TID/NAME in `to`.
void task_path(char* to, std::size_t room, pid_t tid, const char* name);

/// Calls visitor(line, argument) for each line of /proc/self/maps, without its end, until it
/// returns false.
void for_each_mapping(bool (*visitor)(const char* line, void* argument), void* argument);

/// The file mapped at `address`, empty if there is none.
void mapped_file_of(std::uintptr_t address, char* path, std::size_t room);

/// Moves `fd` into our part of the descriptor range. Returns the new one, or -1 (then closed).
int move_fd_high(int fd);

/// How many descriptors the sampler may hold under the present RLIMIT_NOFILE.
std::uint32_t descriptor_budget();

/// Parses hexadecimal digits with or without 0x; stops at anything else. @return past the end.
const char* parse_hex(const char* at, std::uint64_t* value);
const char* parse_decimal(const char* at, std::uint64_t* value);

}  // namespace gpuprof::sample
