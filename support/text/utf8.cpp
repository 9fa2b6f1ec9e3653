// SPDX-License-Identifier: Apache-2.0
//
// UTF-8, told from other bytes.
//
// Context:  daemon | cli
#include "support/text/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace gpuprof::support {

std::size_t utf8_length(std::string_view text) {
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

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    // Nearly all of it is ASCII: eight characters at once.
    std::uint64_t eight = ~0ULL;
    if (text.size() >= sizeof eight) std::memcpy(&eight, text.data(), sizeof eight);
    const std::size_t length =
        (eight & 0x8080808080808080ULL) == 0 ? sizeof eight : utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    out.append(length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace gpuprof::support
