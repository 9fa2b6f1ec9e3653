// SPDX-License-Identifier: Apache-2.0
//
// NVTX as training code uses it: push/pop, a domain, registered strings, payloads, start/end.
//
// Context:  any thread
// Owns:     one leaked NVTX domain
// Promises: with ranges switched off no NVTX function is ever called
// Not here: when ranges begin and end (worker.cpp)
#pragma once

#include <cstdint>

namespace trainer {

/// Switches all ranges of the process on or off. Call once, first.
void use_ranges(bool on);

/// Push/pop range in the default domain; `payload` >= 0 is attached.
class Range {
 public:
  explicit Range(const char* name, std::int64_t payload = -1);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

/// Push/pop range in the domain `sim_trainer.data`, named by a registered string.
class DataRange {
 public:
  DataRange();
  ~DataRange();
  DataRange(const DataRange&) = delete;
  DataRange& operator=(const DataRange&) = delete;
};

/// Start/end range over the whole training; a mark; a name for the calling thread.
std::uint64_t start_training_range();
void end_training_range(std::uint64_t id);
void mark(const char* text);
void name_thread(const char* name);

}  // namespace trainer
