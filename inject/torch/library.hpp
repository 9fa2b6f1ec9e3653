// SPDX-License-Identifier: Apache-2.0
//
// One copy of libtorch in this process: the functions we call and where its objects keep what we
// read.
//
// Context:  callback (read), worker (write, before a callback is registered with this copy)
// Owns:     nothing: the library is pinned and never unmapped
// Promises: an offset of 0 was not confirmed and is not read
// Not here: how it is found (find.cpp), how offsets are learnt (calibrate.cpp)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gpuprof::torch {

/// at::RecordFunctionCallback as libtorch takes it: by value.
struct RecordFunctionCallback {
  void* (*start)(void** context, const std::byte* function);
  void (*end)(const std::byte* function, void* context);
  double probability = 1;
  bool scopes[10] = {};
  bool inputs = false, outputs = false, ids = false;
};
static_assert(sizeof(RecordFunctionCallback) == 40);

/// at::RecordScope, as far as it matters here.
enum class Scope : std::uint8_t { kFunction = 0, kBackward = 1, kUser = 7 };
/// Scopes that are observed: not kernels as dtypes see them (3), not build features (5).
inline constexpr bool kObservedScopes[10] = {true,  true, true, false, true,
                                             false, true, true, true,  true};

/// The argument of RecordFunction::before since 2.8: a std::variant that holds a string view.
struct NameVariant {
  std::size_t bytes;
  const char* text;
  std::size_t index = 0;
};
static_assert(sizeof(NameVariant) == 24);

/// What libtorch exports. Null where a version lacks it.
struct Functions {
  std::uint64_t (*add_global)(RecordFunctionCallback);
  void (*remove)(std::uint64_t handle);
  const char* (*name)(const std::byte* function);
  void (*construct)(std::byte* function, int scope);
  void (*destroy)(std::byte* function);
  void (*before_text)(std::byte* function, const char* name, std::int64_t sequence);
  void (*before_variant)(std::byte* function, NameVariant name, std::int64_t sequence);
  std::uint64_t (*thread_id)();
};

/// Where a RecordFunction keeps what we read, in bytes from its start.
struct FunctionLayout {
  std::uint32_t sequence = 0;  // i64
  std::uint32_t inputs = 0;    // {IValue*, count}
  std::uint32_t forward_thread = 0;
  std::uint32_t thread = 0;  // PyTorch's number
  std::uint32_t scope = 0;   // u8
};

struct Library {
  Functions call;
  FunctionLayout at;
  std::uint64_t handle = 0;  // of our registration; 0: none
  bool with_inputs = false;  // … which asks for inputs
  char path[512] = {};
  char version[32] = {};
};

/// Copies of libtorch in one process that are observed.
inline constexpr std::uint32_t kMaxLibraries = 4;

/// Filled from the front, never emptied.
extern Library g_libraries[kMaxLibraries];

}  // namespace gpuprof::torch
