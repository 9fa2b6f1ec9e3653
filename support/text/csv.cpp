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

std::string_view escape_csv_cell(std::string_view text, std::string& storage) {
  const bool formula = !text.empty() && kBeginsFormulas.find(text[0]) != std::string_view::npos;
  const bool quotes = text.find_first_of(kNeedsQuotes) != std::string_view::npos;
  const bool repair = !is_utf8(text) || text.find('\0') != std::string_view::npos;
  if (!formula && !quotes && !repair) return text;
  storage.clear();
  if (quotes) storage += '"';
  if (formula) storage += '\'';
  for (const char c : repair ? to_utf8(text) : std::string(text)) {
    if (c == '"') storage += c;
    if (c == '\0') {
      storage += kUnknown;
    } else {
      storage += c;
    }
  }
  if (quotes) storage += '"';
  return storage;
}

}  // namespace gpuprof::support
