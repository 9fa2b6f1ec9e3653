// SPDX-License-Identifier: Apache-2.0
//
// The worker's side of kernel:REGEX: compile, match, answer.
//
// Context:  worker
// Owns:     the compiled expression
#include <regex.h>
#include <sys/mman.h>

#include <cstring>

#include "inject/cupti/callbacks/kernel_steps.hpp"

namespace gpuprof::cupti {

namespace {

constinit regex_t g_expression{};
constinit bool g_compiled = false;

bool matches(const char* text) { return regexec(&g_expression, text, 0, nullptr, 0) == 0; }

// libc has no demangler and the daemon is too far away to decide at a launch: the expression is
// tried on the symbol, on its qualified source name and on the last part of that.
bool matches_any(const char* symbol, std::uint32_t bytes) {
  if (matches(symbol)) return true;
  char source[kStepNameBytes + 1];
  const std::uint32_t length = qualified_name(symbol, bytes, source, kStepNameBytes);
  source[length] = '\0';
  if (matches(source)) return true;
  const char* last = source;
  for (const char* at = source; (at = std::strstr(at, "::")) != nullptr;) last = at += 2;
  return last != source && matches(last);
}

bool map_table() {
  if (g_step_table.load(std::memory_order_acquire) != nullptr) return true;
  void* memory = mmap(nullptr, sizeof(StepTable), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zero pages are a valid table of free places.
  g_step_table.store(static_cast<StepTable*>(memory), std::memory_order_release);
  return true;
}

void resolve_pending(const hot::Guard& guard, PendingName& waiting, std::uint64_t now_ns) {
  char text[kStepNameBytes + 1];
  std::memcpy(text, waiting.text, waiting.bytes);
  text[waiting.bytes] = '\0';
  const bool yes = g_compiled && matches_any(text, waiting.bytes);
  StepName* entry = waiting.entry;
  entry->verdict.store(static_cast<std::uint32_t>(yes ? MatchState::kMatch : MatchState::kNoMatch),
                       std::memory_order_release);
  hot::record(guard,
              wire::KernelNameMatch{entry->id.load(std::memory_order_relaxed), yes ? 1u : 0u},
              now_ns);
  waiting.state.store(0, std::memory_order_release);
}

// Reads the decimal length of a source name at `at`; 0: none there.
std::uint32_t read_length(const char* text, std::uint32_t bytes, std::uint32_t* at) {
  std::uint32_t length = 0;
  while (*at < bytes && text[*at] >= '0' && text[*at] <= '9' && length < kStepNameBytes)
    length = length * 10 + static_cast<std::uint32_t>(text[(*at)++] - '0');
  return length;
}

}  // namespace

std::uint32_t qualified_name(const char* mangled, std::uint32_t bytes, char* to,
                             std::uint32_t room) {
  std::uint32_t out = 0;
  if (bytes < 3 || mangled[0] != '_' || mangled[1] != 'Z') {
    out = bytes < room ? bytes : room;
    std::memcpy(to, mangled, out);
    return out;
  }
  std::uint32_t at = 2;
  if (mangled[at] == 'N') ++at;
  while (at < bytes && (mangled[at] == 'r' || mangled[at] == 'V' || mangled[at] == 'K')) ++at;
  if (at + 1 < bytes && mangled[at] == 'S' && mangled[at + 1] == 't') at += 2;  // std::
  while (at < bytes) {
    if (mangled[at] == 'L') ++at;  // internal linkage
    const std::uint32_t length = read_length(mangled, bytes, &at);
    if (length == 0 || length > bytes - at || out + length + 2 > room) break;
    if (out != 0) {
      std::memcpy(to + out, "::", 2);
      out += 2;
    }
    std::memcpy(to + out, mangled + at, length);
    out += length;
    at += length;
  }
  return out;
}

bool set_expression(const char* expression) {
  regex_t fresh;
  const bool wanted = expression != nullptr && expression[0] != '\0';
  if (wanted && regcomp(&fresh, expression, REG_EXTENDED | REG_NOSUB) != 0) return false;
  if (wanted && !map_table()) {
    regfree(&fresh);
    return false;
  }
  if (g_compiled) regfree(&g_expression);
  g_compiled = wanted;
  if (wanted) g_expression = fresh;
  StepTable* table = g_step_table.load(std::memory_order_acquire);
  if (table == nullptr) return true;
  // Answers belong to the old expression: every name is asked about again.
  for (StepName& entry : table->names) {
    if (entry.id.load(std::memory_order_relaxed) == 0) continue;
    entry.verdict.store(static_cast<std::uint32_t>(MatchState::kNew), std::memory_order_release);
  }
  return true;
}

void match_pending(std::uint64_t now_ns) {
  StepTable* table = g_step_table.load(std::memory_order_acquire);
  if (table == nullptr) return;
  const hot::Guard guard(hot::RingRole::kCallback);
  if (!guard) return;
  for (PendingName& waiting : table->waiting)
    if (waiting.state.load(std::memory_order_acquire) == 2) resolve_pending(guard, waiting, now_ns);
}

}  // namespace gpuprof::cupti
