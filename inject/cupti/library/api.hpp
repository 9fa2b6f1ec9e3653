// SPDX-License-Identifier: Apache-2.0
//
// The table of CUPTI functions: looked up by name in the copy that was opened, never linked.
//
// Context:  load_api: worker | boundary; the table itself: any
// Owns:     nothing: the handle belongs to locate.cpp and is never closed
// Promises: a copy that lacks a required function is refused, and the function named; an optional
//           one that is absent is a null pointer, which serves as its feature bit
// Not here: which copy (locate.hpp), what its version means (hazards.hpp)
#pragma once

#include <cupti.h>

#include <cstdint>

#include "inject/modules/pinned_module.hpp"

namespace gpuprof::cupti {

// Of these, callback and signal code may use only cuptiActivityGetNextRecord and
// cuptiGetCallbackName (neither takes a lock that another context of ours could want).
#define GPUPROF_CUPTI_REQUIRED(X)      \
  X(cuptiGetVersion)                   \
  X(cuptiGetResultString)              \
  X(cuptiSubscribe)                    \
  X(cuptiUnsubscribe)                  \
  X(cuptiEnableCallback)               \
  X(cuptiEnableDomain)                 \
  X(cuptiActivityRegisterCallbacks)    \
  X(cuptiActivityEnable)               \
  X(cuptiActivityDisable)              \
  X(cuptiActivityGetNextRecord)        \
  X(cuptiActivityGetNumDroppedRecords) \
  X(cuptiActivityFlushAll)             \
  X(cuptiGetTimestamp)                 \
  X(cuptiActivitySetAttribute)         \
  X(cuptiActivityGetAttribute)

#define GPUPROF_CUPTI_OPTIONAL(X)      \
  X(cuptiSetThreadIdType)              \
  X(cuptiGetThreadIdType)              \
  X(cuptiGetCallbackName)              \
  X(cuptiActivityEnableAndDump)        \
  X(cuptiActivityEnableAllSyncRecords) \
  X(cuptiSubscribe_v2)

/// One pointer per function, named as the function.
struct Api {
#define X(name) decltype(&::name) name = nullptr;
  GPUPROF_CUPTI_REQUIRED(X)
  GPUPROF_CUPTI_OPTIONAL(X)
#undef X
  /// What cuptiGetVersion returns: 13 (CUDA 11.0) … 28, then MMmmpp.
  std::uint32_t version = 0;
};

/// Fills `api` from a handle of dlopen.
///
/// @param missing Receives the first required name that is absent; may be null.
/// @return        False if a required function is absent or the version cannot be read.
bool load_api(const modules::PinnedModule& library, Api* api, const char** missing);

/// CUDA major a CUPTI version belongs to: 11, 12, 13, …
constexpr std::uint32_t cuda_major_of(std::uint32_t version) {
  if (version >= 130000) return version / 10000;
  return version <= 18 ? 11 : 12;
}

}  // namespace gpuprof::cupti
