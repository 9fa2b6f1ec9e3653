// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, unpacked where they are gzip: of one member or of many, empty ones too.
//
// Context:  cli through analysis/commands
// Owns:     the file and 256 KiB of what is packed
// Promises: headers of any length; a damaged or cut file is a failure at its end
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::importer {

/// True for the first bytes of a gzip file.
inline bool is_gzip(std::string_view bytes) {
  return bytes.size() >= 3 && bytes.substr(0, 3) == std::string_view("\x1f\x8b\x08", 3);
}

class Decompressor {
 public:
  /// @param path  for sentences
  Decompressor(std::string path, base::UniqueFd fd);

  /// Fills as much of `to` as there is; 0 at the end, or at a failure().
  std::size_t read(char* to, std::size_t bytes);
  /// Why the text ended early; empty: it did not.
  const std::string& failure() const { return failure_; }
  bool is_compressed() const { return state_ != nullptr; }
  /// Bytes of the file taken so far.
  std::uint64_t bytes_read() const { return bytes_read_; }
  /// Bytes behind the last member that are neither gzip nor padding; known at the end.
  std::uint64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  /// Negative: failed.
  std::ptrdiff_t read_raw(char* to, std::size_t bytes);
  bool refill();
  std::size_t decompress(char* to, std::size_t bytes);
  bool next_member();

  std::string path_;
  base::UniqueFd fd_;
  std::unique_ptr<inflate_state> state_;  // null: not packed
  std::vector<char> compressed_;
  bool ended_ = false;
  std::uint64_t bytes_read_ = 0, trailing_bytes_ = 0;
  std::string failure_;
};

}  // namespace gpuprof::importer
