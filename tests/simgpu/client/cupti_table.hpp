// SPDX-License-Identifier: Apache-2.0
//
// The CUPTI functions the test client uses, found at run time.
//
// Context:  test program
// Owns:     the library handle, never closed
// Promises: missing functions are null and named by `missing`
// Not here: what the client does with them (sim_client.cpp)
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <initializer_list>

#include <cupti.h>

namespace client {

/// Every function by its own name: `table.cuptiSubscribe(...)`.
struct CuptiTable {
#define CLIENT_FUNCTIONS(X)                 \
  X(cuptiGetVersion)                        \
  X(cuptiSubscribe)                         \
  X(cuptiSubscribe_v2)                      \
  X(cuptiUnsubscribe)                       \
  X(cuptiEnableCallback)                    \
  X(cuptiActivityRegisterCallbacks)         \
  X(cuptiActivityRegisterTimestampCallback) \
  X(cuptiActivityEnable)                    \
  X(cuptiActivityEnableAndDump)             \
  X(cuptiActivityDisable)                   \
  X(cuptiActivityEnableDriverApi)           \
  X(cuptiActivityFlushAll)                  \
  X(cuptiActivityFlushPeriod)               \
  X(cuptiActivityGetNextRecord)             \
  X(cuptiActivityGetNumDroppedRecords)      \
  X(cuptiActivityGetAttribute)              \
  X(cuptiActivitySetAttribute)              \
  X(cuptiActivityPushExternalCorrelationId) \
  X(cuptiActivityPopExternalCorrelationId)  \
  X(cuptiSetThreadIdType)                   \
  X(cuptiGetCallbackName)                   \
  X(cuptiGetResultString)                   \
  X(cuptiGetTimestamp)                      \
  X(cuptiGetStreamIdEx)                     \
  X(cuptiGetDeviceId)                       \
  X(cuptiFinalize)
#define CLIENT_FIELD(name) decltype(&::name) name;
  CLIENT_FUNCTIONS(CLIENT_FIELD)
#undef CLIENT_FIELD

  void* library;

  /// Prints which of these functions, not in the table, the library lacks.
  void print_missing(std::initializer_list<const char*> names) const {
    for (const char* name : names)
      if (dlsym(library, name) == nullptr) std::printf("missing %s\n", name);
  }

  /// The toolkit's own CUPTI may be on the loader's path too; only a simulated one will do here.
  static void* open_simulated(const char* soname) {
    void* found = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    return found != nullptr && dlsym(found, "gpuprof_simulated_gpu") != nullptr ? found : nullptr;
  }

  /// Opens whichever CUPTI the loader finds. Returns false if there is no simulated one.
  bool open() {
    library = nullptr;
    for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"})
      if (library == nullptr) library = open_simulated(soname);
    if (library == nullptr) return false;
#define CLIENT_FIND(fn)                                        \
  fn = reinterpret_cast<decltype(&::fn)>(dlsym(library, #fn)); \
  if (fn == nullptr) std::printf("missing %s\n", #fn);
    CLIENT_FUNCTIONS(CLIENT_FIND)
#undef CLIENT_FIND
    return true;
  }
};

}  // namespace client
