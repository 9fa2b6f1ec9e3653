// SPDX-License-Identifier: Apache-2.0
//
// Quotes and apostrophes.
//
// Context:  daemon | cli
#include "support/text/csv.hpp"

#include "support/text/utf8.hpp"

namespace gpuprof::support {
namespace {

constexpr std::string_view kBeginsFormulas = "=+-@\t\r\n";
// Semicolons and tabs part columns where a comma is in numbers.
constexpr std::string_view kNeedsQuotes = ",;\t\"\r\n";
constexpr std::string_view kUnknown = "\xef\xbf\xbd";  // U+FFFD

}  // namespace

std::string_view csv_cell(std::string_view text, std::string& room) {
  const bool formula = !text.empty() && kBeginsFormulas.find(text[0]) != std::string_view::npos;
  const bool quotes = text.find_first_of(kNeedsQuotes) != std::string_view::npos;
  const bool repair = !is_utf8(text) || text.find('\0') != std::string_view::npos;
  if (!formula && !quotes && !repair) return text;
  room.clear();
  if (quotes) room += '"';
  if (formula) room += '\'';
  for (const char c : repair ? as_utf8(text) : std::string(text)) {
    if (c == '"') room += c;
    if (c == '\0') {
      room += kUnknown;
    } else {
      room += c;
    }
  }
  if (quotes) room += '"';
  return room;
}

}  // namespace gpuprof::support
