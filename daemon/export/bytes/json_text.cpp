// SPDX-License-Identifier: Apache-2.0
//
// Escapes, UTF-8 repair, numbers.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/bytes/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "daemon/export/bytes/gzip_file.hpp"

namespace gpuprof::exporter {
namespace {

/// Bytes of the UTF-8 character at the start of `text`, 0 if it is not one.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates and beyond U+10FFFF have the right bit patterns and are wrong.
  const unsigned char second = byte(1);
  const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                     (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return wrong ? 0 : length;
}

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
    const std::size_t length = character(text);
    if (length == 0) out += "\xef\xbf\xbd";
    if (length == 1) append_control(out, static_cast<unsigned char>(text[0]));
    if (length > 1) out.append(text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string escaped(std::string_view text, std::size_t max_bytes) {
  text = cut_at_character(text, max_bytes);
  std::string out;
  out.reserve(text.size() + 8);
  append_escaped(out, text);
  return out;
}

std::string written_as(Texts texts, std::string_view text, std::size_t max_bytes) {
  if (texts == Texts::kJson) return escaped(text, max_bytes);
  text = cut_at_character(text, max_bytes);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character(text);
    out.append(length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
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
constinit const std::array<std::array<char, 4>, 1000> JsonText::kThousandths = make_thousandths();

JsonText& JsonText::string(std::string_view value) {
  const std::string safe = escaped(value, 64 * 1024);
  need(safe.size() + 2);
  return raw("\"").raw(safe).raw("\"");
}

void JsonText::open_chunk(std::size_t bytes) {
  chunk_ = file_.take_chunk();
  if (chunk_.size() < bytes) chunk_.resize(bytes);
  at_ = chunk_.data();
  end_ = at_ + chunk_.size();
}

void JsonText::hand_over(std::size_t need) {
  finish();
  open_chunk(need);
}

void JsonText::finish() {
  const std::size_t bytes = used();
  handed_over_ += bytes;
  file_.put_chunk(std::move(chunk_), bytes);
  chunk_ = {};
  at_ = end_ = chunk_.data();
}

}  // namespace gpuprof::exporter
