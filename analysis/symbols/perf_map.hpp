// SPDX-License-Identifier: Apache-2.0
//
// Names of generated code: the file /tmp/perf-PID.map that compilers at run time write for perf.
//
// Context:  daemon (any export thread)
// Owns:     what was read of the file so far, and the file
// Promises: a file that is not the process's own user's, is no plain file or is older than the
//           process gives no names; what is read of one is bounded
// Not here: which process has one (perf_map_registry.hpp)
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::symbols {

/// Code by address, the latest entry of an address first: memory is used again.
class PerfMapEntries {
 public:
  static constexpr std::size_t kMaxEntries = 2'000'000;
  static constexpr std::size_t kMaxName = 4096;  // bytes; cut at a character

  /// Takes what follows: whole lines `START SIZE NAME`, both hexadecimal; others are passed over.
  void append(std::string_view text);
  void clear();
  /// Empty: no entry holds the address.
  const std::string& name_at(std::uint64_t address) const;

 private:
  struct Entry {
    std::uint64_t end;
    std::string name;
  };
  void take_line(std::string_view line);
  void insert(std::uint64_t begin, Entry entry);

  std::map<std::uint64_t, Entry> entries_;  // not overlapping
  std::string rest_;                        // of a line whose end is still to come
  bool skipping_ = false;                   // in a line that is too long
};

/// Who may have written it, and when.
struct PerfMapOrigin {
  base::UniqueFd root;        // of the process's file system
  std::string path;           // below it
  std::vector<uid_t> owners;  // users the process runs as
  std::time_t from_s = 0;     // when it began
};

class PerfMap {
 public:
  explicit PerfMap(PerfMapOrigin origin) : origin_(std::move(origin)) {}

  /// Reads what the process has written since, where that may help. Empty: no name.
  std::string name_at(std::uint64_t address);

 private:
  void read_new();
  bool open();

  std::mutex mutex_;
  const PerfMapOrigin origin_;
  base::UniqueFd file_;
  off_t read_ = 0;
  std::chrono::steady_clock::time_point looked_{};
  PerfMapEntries text_;
};

}  // namespace gpuprof::symbols
