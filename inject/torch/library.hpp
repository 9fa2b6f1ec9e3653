// SPDX-License-Identifier: Apache-2.0
//
// One copy of libtorch in this process: the functions we call and where its objects keep what we
// read.
//
// Context:  callback (read), worker (write, before a callback is registered with this copy)
// Owns:     nothing: the library is pinned and never unmapped
// Promises: an offset of 0 was not confirmed and is not read
// Not here: how it is found (find_libtorch.cpp), how offsets are learnt (calibrate.cpp)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gpuprof::torch {

/// std::unique_ptr<at::ObserverContext> without an object: its destructor, which does nothing,
/// makes it a class that is returned in memory, where each processor's calling convention wants
/// that to be.
struct NullObserverContext {
  void* nothing = nullptr;
  ~NullObserverContext() {}
};
static_assert(!std::is_trivially_copyable_v<NullObserverContext> &&
              sizeof(NullObserverContext) == 8);

/// at::RecordFunctionCallback as libtorch takes it: by value.
struct RecordFunctionCallback {
  NullObserverContext (*start)(const std::byte* function);
  void (*end)(const std::byte* function, void* context);
  double probability = 1;
  bool scopes[10] = {};
  bool inputs = false, outputs = false, ids = false;
};
static_assert(sizeof(RecordFunctionCallback) == 40);

/// at::RecordScope, as far as it matters here.
enum class Scope : std::uint8_t { kFunction = 0, kBackward = 1, kUser = 7 };
/// Scopes that are observed: not kernel functions by dtype (3), not build features (5).
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
  bool (*is_tensor_list)(const void* value);
  const void* const* (*tensor_type)();  // a reference to a shared pointer
  const void* undefined_tensor;         // the object itself
};

/// Where a RecordFunction keeps what we read, in bytes from its start.
struct FunctionLayout {
  std::uint32_t sequence = 0;  // i64
  std::uint32_t inputs = 0;    // {IValue*, count}
  std::uint32_t forward_thread = 0;
  std::uint32_t thread = 0;  // PyTorch's number
  std::uint32_t scope = 0;   // u8
};

/// A place, in bytes from an object's start, that is learned from objects that come by. Threads
/// that do so at once lose some: then it only takes a few objects more.
class LearnedOffset {
 public:
  /// 0: not known yet, kRefused: never will be.
  std::uint32_t offset() const { return place_.load(std::memory_order_acquire); }
  void refuse() { place_.store(kRefused, std::memory_order_relaxed); }

  /// An object fitted this place and no other; `enough` in a row decide.
  void add_match(std::uint32_t place, std::uint32_t enough) {
    std::uint32_t seen = agreeing_.load(std::memory_order_relaxed);
    seen = seen >> 16 == place ? seen + 1 : (place << 16) + 1;
    agreeing_.store(seen, std::memory_order_relaxed);
    if ((seen & 0xffff) >= enough) place_.store(place, std::memory_order_release);
  }
  /// An object fitted none or several.
  void add_mismatch(std::uint32_t too_many) {
    if (in_vain_.fetch_add(1, std::memory_order_relaxed) >= too_many) refuse();
  }
  static constexpr std::uint32_t kRefused = ~0u;

 private:
  std::atomic<std::uint32_t> place_{0};
  std::atomic<std::uint32_t> agreeing_{0};  // how many in a row, and above bit 16 the place
  std::atomic<std::uint32_t> in_vain_{0};
};

/// How an input is kept: c10::IValue, at::TensorImpl, c10::detail::ListImpl.
struct InputLayout {
  std::uint64_t undefined_tensor = 0;  // address of the one that stands for "no tensor"
  std::uint64_t tensor_type = 0;       // address of the type of tensors, as lists name it
  std::uint32_t list_tag = 0;          // of an IValue; 0: lists are not followed
  std::uint32_t bool_tag = 0;
  LearnedOffset sizes;  // of a tensor
  LearnedOffset items;  // of a list: {begin, end, capacity}, then their type
  // Where libtorch's own tensor that stands for none has them; 0: not known before `sizes` and
  // `items` are. Assumed for objects that make sense there.
  std::uint32_t expected_sizes = 0, expected_items = 0;
};

struct Library {
  Functions call;
  FunctionLayout at;
  InputLayout input;
  std::uint64_t handle = 0;              // of our registration; 0: none
  std::uint32_t call_ns = 0;             // what a callback of an observer costs in libtorch
  std::atomic<bool> with_inputs{false};  // … which requests inputs
  char path[512] = {};
  char version[32] = {};
};

/// Copies of libtorch in one process that are observed.
inline constexpr std::uint32_t kMaxLibraries = 4;

/// Filled from the front, never emptied.
extern Library g_libraries[kMaxLibraries];

}  // namespace gpuprof::torch
