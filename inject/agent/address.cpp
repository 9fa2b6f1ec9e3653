// SPDX-License-Identifier: Apache-2.0
//
// Parses the one environment variable, in the constructor, and what an attach says: no allocation,
// no locale.
//
// Context:  boundary
#include "inject/agent/address.hpp"

#include <string.h>

#include <cstddef>

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
  const bool armed = end - text == 5 && strncmp(text, "armed", 5) == 0;
  if (!armed && !parse_socket(text, end, out)) return false;
  while (*end == ';') {
    const char* field = end + 1;
    end = end_of_field(field);
    if (strncmp(field, "session=", 8) == 0) out->session = parse_number(field + 8, end, 16);
    if (strncmp(field, "pid=", 4) == 0)
      out->command_pid = static_cast<std::uint32_t>(parse_number(field + 4, end, 10));
    if (strncmp(field, "name=", 5) == 0) copy_name(field + 5, end, out);
    if (strncmp(field, "nonce=", 6) == 0) out->nonce = parse_number(field + 6, end, 16);
    if (strncmp(field, "patience=", 9) == 0)
      out->patience_ms = static_cast<std::uint32_t>(parse_number(field + 9, end, 10));
  }
  return true;
}

}  // namespace gpuprof::agent
