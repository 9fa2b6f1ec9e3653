// SPDX-License-Identifier: Apache-2.0
//
// Objects that are mapped in this process, by file name or SONAME.
//
// Context:  worker | boundary
// Promises: opens only what is mapped already
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/modules/pinned_module.hpp"

namespace gpuprof::cupti {

struct MappedLibrary {
  char path[512];
  char soname[64];
};

/// Objects whose file name or SONAME starts with `prefix` and holds ".so".
///
/// @return How many were found; at most `room` are written.
std::uint32_t find_mapped_libraries(const char* prefix, MappedLibrary* to, std::uint32_t room);

/// Pins an object that is mapped. Empty if it is not (any more); on threads of ours also while
/// somebody is inside dlopen: they look again for what they do not find.
modules::PinnedModule pin_library(const char* path);

/// Last part of a path.
const char* base_name(const char* path);

/// snprintf's "%s" without its warnings: cuts, ends with NUL.
void copy_text(char* to, std::size_t room, const char* from);

}  // namespace gpuprof::cupti
