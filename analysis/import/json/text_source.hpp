// SPDX-License-Identifier: Apache-2.0
//
// The text of a file, plain or gzip, in blocks; read and unpacked by a thread of its own.
//
// Context:  cli through analysis/commands
// Owns:     the thread and a fixed number of blocks
// Promises: control characters come as blanks, which JSON forbids in strings and elsewhere does
//           not tell from blanks; memory is fixed; a damaged or cut file is an error at its end
// Not here: what the text says (json_events.hpp)
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "analysis/import/json/decompressor.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {

class TextSource {
 public:
  static constexpr std::size_t kBlockBytes = 1u << 20;

  /// Errors: no such file, not readable, not a regular file, empty.
  static support::Result<std::unique_ptr<TextSource>> open(const std::string& path);
  ~TextSource();

  /// The next part of the text; empty at the end. Errors: see failure().
  std::string next();
  /// Why the text ended early; empty: it did not, as far as it was read.
  std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  /// Of the file as it lies on the disk.
  std::uint64_t bytes_read() const { return read_.load(std::memory_order_relaxed); }
  std::uint64_t file_bytes() const { return file_bytes_; }
  /// Bytes behind packed text that are no gzip and were not read; known at the end.
  std::uint64_t trailing_bytes() const {
    const std::lock_guard lock(mutex_);
    return unpacker_.trailing_bytes();
  }
  /// Of the text: holes of a file that was not written whole; known at the end.
  std::uint64_t nul_bytes() const {
    const std::lock_guard lock(mutex_);
    return nul_bytes_;
  }

 private:
  TextSource(std::string path, base::UniqueFd fd, std::uint64_t bytes);
  void read_blocks();
  bool put(std::string block);

  Decompressor unpacker_;  // of the thread until it is done
  std::uint64_t file_bytes_;
  std::atomic<std::uint64_t> read_{0};

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::deque<std::string> blocks_;
  std::string failure_;
  std::uint64_t nul_bytes_ = 0;
  bool done_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace gpuprof::importer
