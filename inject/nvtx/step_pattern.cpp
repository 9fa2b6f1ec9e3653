// SPDX-License-Identifier: Apache-2.0
//
// The pattern, double-buffered.
//
// Context:  callback
// Owns:     the pattern
#include "inject/nvtx/step_pattern.hpp"

#include <atomic>
#include <cstring>

#include "inject/nvtx/nvtx.hpp"

namespace gpuprof::nvtx {

namespace {

constexpr std::uint32_t kPatternBytes = 512;

struct Pattern {
  std::uint32_t bytes;
  char text[kPatternBytes];
};
constinit Pattern g_patterns[2] = {};
// release; pairs with the acquire in matches_step_pattern. Null: no pattern.
constinit std::atomic<const Pattern*> g_pattern{nullptr};

// Past one character: continuation bytes of UTF-8 belong to the byte before.
std::uint32_t next_character(TextView text, std::uint32_t at) {
  ++at;
  while (at < text.bytes && (static_cast<unsigned char>(text.data[at]) & 0xC0u) == 0x80u) ++at;
  return at;
}

}  // namespace

bool glob_matches(TextView pattern, TextView text) {
  std::uint32_t p = 0, t = 0;
  std::uint32_t star = pattern.bytes, resume = 0;  // last '*' seen, and where its text ends
  while (t < text.bytes) {
    if (p < pattern.bytes && pattern.data[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.bytes && pattern.data[p] == '?') {
      ++p;
      t = next_character(text, t);
    } else if (p < pattern.bytes && pattern.data[p] == text.data[t]) {
      ++p;
      ++t;
    } else if (star < pattern.bytes) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.bytes && pattern.data[p] == '*') ++p;
  return p == pattern.bytes;
}

bool matches_step_pattern(TextView message) {
  const Pattern* pattern = g_pattern.load(std::memory_order_acquire);
  return pattern != nullptr && glob_matches({pattern->text, pattern->bytes}, message);
}

void set_step_pattern(const char* name) {
  const TextView wanted = as_text(name);
  if (wanted.bytes == 0) {
    g_pattern.store(nullptr, std::memory_order_release);
    return;
  }
  const Pattern* now = g_pattern.load(std::memory_order_relaxed);
  Pattern& next = g_patterns[now == &g_patterns[0] ? 1 : 0];
  next.bytes = wanted.bytes < kPatternBytes ? wanted.bytes : kPatternBytes;
  std::memcpy(next.text, wanted.data, next.bytes);
  g_pattern.store(&next, std::memory_order_release);
}

}  // namespace gpuprof::nvtx
