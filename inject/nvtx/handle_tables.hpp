// SPDX-License-Identifier: Apache-2.0
//
// Handles the program gets from us: domains and registered strings; and names of threads.
//
// Context:  callback; send_names, resend_names: worker
// Owns:     tables of fixed size in the library's own memory: the program keeps what it was handed
// Promises: no lock; a full table returns a handle that means "no name"
// Not here: messages of single events (handlers.cpp)
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/nvtx/nvtx_types.hpp"

namespace gpuprof::nvtx {

/// Piece of text in UTF-8, not NUL-terminated.
struct TextView {
  const char* data;
  std::uint32_t bytes;
};

inline constexpr std::uint32_t kDomains = 256;
inline constexpr std::uint32_t kStrings = 16384;
inline constexpr std::uint32_t kWideBytes = 512;

/// Maps the tables. Boundary. False: no memory.
bool map_tables();

/// Handle of a domain of this name; the same name gives the same handle.
nvtxDomainHandle_t add_domain(TextView name);
/// Its number on the wire; 0: the default domain, or none of our handles.
std::uint32_t domain_index(nvtxDomainHandle_t handle);

nvtxStringHandle_t add_string(TextView text);
/// Text of one of our handles; empty for anything else.
TextView string_text(nvtxStringHandle_t handle);

void add_thread_name(std::uint32_t tid, TextView name);

/// Sends what was named since the last call, to the outbox. Worker.
void send_names();

/// The next send_names() reports domains again, to another daemon. Worker.
void resend_names();

/// Wide characters (UTF-32) as UTF-8, cut to `room` bytes at a character boundary.
TextView to_utf8(const wchar_t* wide, char* to, std::uint32_t room);
TextView as_text(const char* text);

}  // namespace gpuprof::nvtx
