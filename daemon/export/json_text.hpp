// SPDX-License-Identifier: Apache-2.0
//
// JSON text into a file's chunks: no tree, no allocation an event.
//
// Context:  daemon (export thread) | cli
// Owns:     the open chunk
// Promises: strings come out as valid UTF-8 and JSON whatever the bytes; never NaN or Infinity
// Not here: commas: callers know where they stand
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/export/gzip_file.hpp"

namespace gpuprof::exporter {

/// Appends `text` with JSON escapes; bytes that are not UTF-8 become U+FFFD.
void append_escaped(std::string& out, std::string_view text);
/// The same as a new string, at most `max_bytes` long before escaping, cut at a character.
std::string escaped(std::string_view text, std::size_t max_bytes = 4096);

/// A finite number, shortest form that reads back to six digits; not finite: 0.
void append_number(std::string& out, double value);

class JsonText {
 public:
  explicit JsonText(GzipFile& file) : file_(file), chunk_(file.take_chunk()) {}

  /// Makes room for `bytes` more; the calls below rely on it.
  void need(std::size_t bytes) {
    if (chunk_.size() - used_ < bytes) hand_over(bytes);
  }

  JsonText& raw(std::string_view text) {
    std::memcpy(chunk_.data() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  JsonText& number(std::uint64_t value);
  JsonText& signed_number(std::int64_t value);
  /// Nanoseconds as microseconds with three digits, so that nothing is rounded.
  JsonText& us(std::uint64_t ns);

  /// need() and raw() in one, for text of any length.
  JsonText& text(std::string_view value) {
    need(value.size());
    return raw(value);
  }
  /// A quoted, escaped string of any length.
  JsonText& string(std::string_view value);

  std::uint64_t bytes() const { return handed_over_ + used_; }
  /// Hands the last chunk to the file.
  void finish();

 private:
  void hand_over(std::size_t need);

  GzipFile& file_;
  std::vector<char> chunk_;
  std::size_t used_ = 0;
  std::uint64_t handed_over_ = 0;
};

}  // namespace gpuprof::exporter
