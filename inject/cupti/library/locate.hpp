// SPDX-License-Identifier: Apache-2.0
//
// Which copy of CUPTI to open: the one in use, the one beside the runtime, the one on
// the library path, the toolkit's.
//
// Context:  worker | boundary
// Owns:     the handle it returns: never closed, as it is not for us to unmap CUPTI under a
//           framework
// Promises: never maps a copy whose file name states a newer major version than the driver's; the
//           path and the reason are known afterwards
// Not here: functions inside (api.hpp)
#pragma once

#include <cstdint>

#include "inject/cupti/library/api.hpp"
#include "inject/cupti/library/driver.hpp"
#include "inject/modules/pinned_module.hpp"

namespace gpuprof::cupti {

enum class LibraryOrigin : std::uint8_t {
  kNone,
  kFramework,
  kMapped,
  kBesideRuntime,
  kLibraryPath,
  kToolkit,
  kLinker
};

const char* origin_text(LibraryOrigin origin);

struct CuptiLibrary {
  modules::PinnedModule handle;
  LibraryOrigin origin = LibraryOrigin::kNone;
  std::uint32_t mapped_copies = 0;  // CUPTI copies mapped before we looked
  bool simulated = false;           // a simulated GPU says so itself
  char path[512] = {};
  char refused[192] = {};  // why a copy was passed over, last one wins
};

/// Finds and opens a copy, and loads the table.
bool locate_cupti(const Driver& driver, CuptiLibrary* copy, Api* api);

}  // namespace gpuprof::cupti
