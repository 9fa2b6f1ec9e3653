// SPDX-License-Identifier: Apache-2.0
//
// JSON text into a file's chunks: no tree, no allocation an event.
//
// Context:  daemon (export thread) | cli
// Owns:     the open chunk
// Promises: strings come out as valid UTF-8 and JSON whatever the bytes; never NaN or Infinity
// Not here: commas: callers know where they stand
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::exporter {

class GzipFile;

/// Appends `text` with JSON escapes; bytes that are not UTF-8 become U+FFFD.
void append_escaped(std::string& out, std::string_view text);
/// The same as a new string, at most `max_bytes` long before escaping, cut at a character.
std::string escape_json(std::string_view text, std::size_t max_bytes);

/// How a file wants its texts.
enum class TextEncoding {
  kJsonEscaped,  // ready to be put between a JSON text's quotes
  kUtf8,         // as they are, but valid UTF-8
};
/// `text` as the file wants it, at most `max_bytes` of it, cut at a character.
std::string encode_text(TextEncoding texts, std::string_view text, std::size_t max_bytes);

/// A finite number, shortest form that reads back to six digits; not finite: 0.
void append_number(std::string& out, double value);

class BufferedWriter {
 public:
  explicit BufferedWriter(GzipFile& file) : file_(file) { open_chunk(0); }

  /// Makes room for `bytes` more; the calls below rely on it.
  void reserve(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) flush_chunk(bytes);
  }

  BufferedWriter& raw(std::string_view text) {
    at_ = std::copy(text.begin(), text.end(), at_);
    return *this;
  }
  /// A literal: its copy is a few moves, where one of unknown length is a call.
  template <std::size_t N>
  BufferedWriter& raw(const char (&text)[N]) {
    std::memcpy(at_, text, N - 1);
    at_ += N - 1;
    return *this;
  }
  BufferedWriter& number(std::uint64_t value) {
    at_ = std::to_chars(at_, at_ + kMaxDigits, value).ptr;
    return *this;
  }
  BufferedWriter& signed_number(std::int64_t value) {
    at_ = std::to_chars(at_, at_ + kMaxDigits, value).ptr;
    return *this;
  }
  /// Nanoseconds as microseconds with three digits, so that nothing is rounded.
  BufferedWriter& us(std::uint64_t ns) {
    number(ns / 1000);
    std::memcpy(at_, kThousandths[ns % 1000].data(), 4);
    at_ += 4;
    return *this;
  }

  /// reserve() and raw() in one, for text of any length.
  BufferedWriter& text(std::string_view value) {
    reserve(value.size());
    return raw(value);
  }
  /// A quoted, escaped string of any length.
  BufferedWriter& string(std::string_view value);

  std::uint64_t bytes() const { return flushed_bytes_ + used(); }
  /// Hands the last chunk to the file.
  void finish();

 private:
  static constexpr std::size_t kMaxDigits = 20;
  /// ".000" to ".999".
  static const std::array<std::array<char, 4>, 1000> kThousandths;

  std::size_t used() const { return static_cast<std::size_t>(at_ - chunk_.data()); }
  void open_chunk(std::size_t bytes);
  void flush_chunk(std::size_t bytes);

  GzipFile& file_;
  std::vector<char> chunk_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::uint64_t flushed_bytes_ = 0;
};

}  // namespace gpuprof::exporter
