// SPDX-License-Identifier: Apache-2.0
//
// Halves of UTF-16 pairs that stand alone in JSON text, as Python writes names that are no UTF-8.
//
// Context:  cli through analysis/commands
// Owns:     nothing
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpuprof::importer {

/// The number in `\uXXXX` at the begin of `text`; none where another thing stands.
inline std::optional<unsigned> unicode_escape(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return {};
  unsigned value = 0;
  for (const char c : text.substr(2, 4)) {
    const char letter = static_cast<char>(c | 0x20);
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<unsigned>(c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      value = value * 16 + static_cast<unsigned>(letter - 'a' + 10);
    } else {
      return {};
    }
  }
  return value;
}

/// Makes each such half from `from` on `\ufffd`, which has the same length. Halves whose other one
/// may lie behind the end of `text` stay.
///
/// @param from  where an escape begins, or none is
/// @return      how many it were
inline std::size_t replace_lone_surrogates(std::string& text, std::size_t from) {
  std::size_t replaced = 0;
  for (std::size_t at = text.find('\\', from); at < text.size(); at = text.find('\\', at)) {
    const std::string_view rest = std::string_view(text).substr(at);
    const auto half = unicode_escape(rest);
    if (!half || *half < 0xd800 || *half > 0xdfff) {
      at += 2;
      continue;
    }
    const bool low = *half >= 0xdc00;
    // What follows decides: six characters, or fewer that are no escape.
    if (!low && (rest.size() < 7 || (rest[6] == '\\' && rest.size() < 12))) break;
    const auto other = low ? std::nullopt : unicode_escape(rest.substr(6));
    if (other && *other >= 0xdc00 && *other <= 0xdfff) {
      at += 12;
      continue;
    }
    text.replace(at, 6, "\\ufffd");
    ++replaced;
    at += 6;
  }
  return replaced;
}

}  // namespace gpuprof::importer
