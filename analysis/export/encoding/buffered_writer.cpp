// SPDX-License-Identifier: Apache-2.0
//
// Escapes and numbers.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/encoding/buffered_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "analysis/export/encoding/gzip_file.hpp"
#include "support/text/utf8.hpp"

namespace gpuprof::exporter {
namespace {

std::string_view cut_at_character(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xc0) == 0x80) --max_bytes;
  return text.substr(0, max_bytes);
}

bool plain(unsigned char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void append_control(std::string& out, unsigned char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
      return;
  }
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && plain(static_cast<unsigned char>(text[run]))) ++run;
    out.append(text.substr(0, run));
    text.remove_prefix(run);
    if (text.empty()) return;
    const std::size_t length = support::utf8_length(text);
    if (length == 0) out += "\xef\xbf\xbd";
    if (length == 1) append_control(out, static_cast<unsigned char>(text[0]));
    if (length > 1) out.append(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string escape_json(std::string_view text, std::size_t max_bytes) {
  text = cut_at_character(text, max_bytes);
  std::string out;
  out.reserve(text.size() + 8);
  append_escaped(out, text);
  return out;
}

std::string encode_text(TextEncoding texts, std::string_view text, std::size_t max_bytes) {
  if (texts == TextEncoding::kJsonEscaped) return escape_json(text, max_bytes);
  text = cut_at_character(text, max_bytes);
  return support::to_utf8(text);
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) value = 0;
  fmt::format_to(std::back_inserter(out), "{:.6g}", value);
}

constexpr auto make_thousandths() {
  std::array<std::array<char, 4>, 1000> table{};
  for (unsigned i = 0; i < table.size(); ++i)
    table[i] = {'.', static_cast<char>('0' + i / 100), static_cast<char>('0' + i / 10 % 10),
                static_cast<char>('0' + i % 10)};
  return table;
}
constinit const std::array<std::array<char, 4>, 1000> BufferedWriter::kThousandths =
    make_thousandths();

BufferedWriter& BufferedWriter::string(std::string_view value) {
  const std::string safe = escape_json(value, 64 * 1024);
  reserve(safe.size() + 2);
  return raw("\"").raw(safe).raw("\"");
}

void BufferedWriter::open_chunk(std::size_t bytes) {
  chunk_ = file_.take_chunk();
  if (chunk_.size() < bytes) chunk_.resize(bytes);
  at_ = chunk_.data();
  end_ = at_ + chunk_.size();
}

void BufferedWriter::flush_chunk(std::size_t bytes) {
  finish();
  open_chunk(bytes);
}

void BufferedWriter::finish() {
  const std::size_t bytes = used();
  flushed_bytes_ += bytes;
  file_.put_chunk(std::move(chunk_), bytes);
  chunk_ = {};
  at_ = end_ = chunk_.data();
}

}  // namespace gpuprof::exporter
