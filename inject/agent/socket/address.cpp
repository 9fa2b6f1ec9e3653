// SPDX-License-Identifier: Apache-2.0
//
// Parses the one environment variable, in the constructor, and what an attach says: no allocation,
// no locale.
//
// Context:  boundary
#include "inject/agent/socket/address.hpp"

#include <string.h>

#include <cstddef>

#include "gpuprof/wire/messages.hpp"

namespace gpuprof::agent {

namespace {

std::uint64_t parse_number(const char* text, const char* end, unsigned base) {
  std::uint64_t value = 0;
  for (; text != end; ++text) {
    const char c = *text;
    unsigned digit = base;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    if (digit >= base) break;
    value = value * base + digit;
  }
  return value;
}

const char* end_of_field(const char* text) {
  while (*text != '\0' && *text != ';') ++text;
  return text;
}

bool parse_socket(const char* text, const char* end, Address* out) {
  const auto bytes = static_cast<std::size_t>(end - text);
  if (bytes < 2 || bytes >= sizeof out->socket.sun_path) return false;
  if (text[0] != '@' && text[0] != '/') return false;
  out->socket.sun_family = AF_UNIX;
  memcpy(out->socket.sun_path, text, bytes);
  out->socket_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + bytes);
  if (text[0] == '@') {
    out->socket.sun_path[0] = '\0';
  } else {
    ++out->socket_bytes;
  }
  return true;
}

// With its last letter as mark_syscalls_restricted() wrote it, too.
bool is_word(const char* text, const char* end, const char* word, Address* out) {
  const std::size_t bytes = strlen(word);
  if (static_cast<std::size_t>(end - text) != bytes || strncmp(text, word, bytes - 1) != 0)
    return false;
  const char marked = static_cast<char>(word[bytes - 1] - ('a' - 'A'));
  out->syscalls_restricted = out->syscalls_restricted || text[bytes - 1] == marked;
  return text[bytes - 1] == word[bytes - 1] || text[bytes - 1] == marked;
}

void copy_name(const char* text, const char* end, Address* out) {
  auto bytes = static_cast<std::size_t>(end - text);
  if (bytes >= sizeof out->name) bytes = sizeof out->name - 1;
  memcpy(out->name, text, bytes);
}

}  // namespace

bool parse_address(const char* text, Address* out) {
  memset(out, 0, sizeof *out);
  if (text == nullptr) return false;
  const char* end = end_of_field(text);
  const bool armed = is_word(text, end, "armed", out);
  if (!armed && !parse_socket(text, end, out)) return false;
  while (*end == ';') {
    const char* field = end + 1;
    end = end_of_field(field);
    if (end - field > 8 && is_word(field, field + 7, "session", out) && field[7] == '=')
      out->session = parse_number(field + 8, end, 16);
    if (strncmp(field, "pid=", 4) == 0)
      out->command_pid = static_cast<std::uint32_t>(parse_number(field + 4, end, 10));
    if (strncmp(field, "name=", 5) == 0) copy_name(field + 5, end, out);
    if (strncmp(field, "nonce=", 6) == 0) out->nonce = parse_number(field + 6, end, 16);
    if (strncmp(field, "patience=", 9) == 0)
      out->idle_timeout_ms = static_cast<std::uint32_t>(parse_number(field + 9, end, 10));
  }
  return true;
}

void mark_syscalls_restricted(char** environment) {
  const std::size_t name_bytes = strlen(wire::kSocketVariable);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (strncmp(*environment, wire::kSocketVariable, name_bytes) != 0 ||
        (*environment)[name_bytes] != '=')
      continue;
    char* value = *environment + name_bytes + 1;
    char* word = strncmp(value, "armed", 5) == 0 ? value + 4 : strstr(value, ";session=");
    if (word != nullptr && *word == ';') word += 7;
    if (word != nullptr && *word >= 'a') *word = static_cast<char>(*word - ('a' - 'A'));
    return;
  }
}

}  // namespace gpuprof::agent
