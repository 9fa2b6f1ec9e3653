// SPDX-License-Identifier: Apache-2.0
//
// A library with libtorch's symbols and a layout given by the build: FAKE_LAYOUT are the fields of
// FakeLayout, FAKE_BEFORE the mangled name of RecordFunction::before, FAKE_ARGUMENT how it takes a
// name (a C string, or a variant on the stack).
//
// Context:  tests
#include "tests/unit/torch/fake_torch.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

namespace {

using gpuprof::tests::FakeLayout;
using gpuprof::tests::FakeOperator;
using gpuprof::tests::FakeTorch;

#define EXPORT extern "C" __attribute__((visibility("default")))

constexpr FakeLayout kLayout = {FAKE_LAYOUT};
constexpr std::uint32_t kThreadAt = 88, kScopeAt = 96, kNameAt = 160;

/// As libtorch declares it: what a callback returns is taken over and destroyed.
struct ObserverContext {
  virtual ~ObserverContext() = default;
};

struct Callback {
  std::unique_ptr<ObserverContext> (*start)(const std::byte* function);
  void (*end)(const std::byte* function, void* context);
  double probability;
  bool scopes[10];
  bool inputs, outputs, ids;
};

std::mutex g_mutex;
std::map<std::uint64_t, Callback> g_callbacks;
std::uint64_t g_next = 1;
std::atomic<std::uint64_t> g_boxed{0};
std::uint64_t g_tensor_type[2] = {0, 3};
void* g_type_pointer = g_tensor_type;

template <typename T>
void put(std::byte* object, std::uint32_t at, T value) {
  std::memcpy(object + at, &value, sizeof value);
}
template <typename T>
T get(const std::byte* object, std::uint32_t at) {
  T value;
  std::memcpy(&value, object + at, sizeof value);
  return value;
}

/// The tensor that stands for none: one size of 0 with a stride of 1, a type, and ahead of the
/// sizes a version after the three that it lacks.
struct FakeUndefined {
  constexpr FakeUndefined(std::uint32_t sizes) {
    words[kLayout.items / 8 + 3] = 0x5000;
    words[sizes / 8] = words[sizes / 8 + 6] = 1;
    words[sizes / 8 + 13] = 0x7f002f;
  }
  std::uint64_t words[40] = {};
};

std::uint64_t thread_number() {
  static std::atomic<std::uint64_t> next{1};
  thread_local const std::uint64_t number = next++;
  return number;
}

std::map<std::uint64_t, Callback> callbacks() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return g_callbacks;
}

void construct(std::byte* object, std::uint32_t scope) {
  std::memset(object, 0, 1024);
  put<std::uint64_t>(object, kThreadAt + kLayout.shift, thread_number());
  put<std::uint8_t>(object, kScopeAt + kLayout.shift, static_cast<std::uint8_t>(scope));
  put<std::int64_t>(object, kLayout.sequence, -1);
  const std::uint32_t after = kLayout.sequence + 24;
  if (kLayout.has_map) put(object, after, object + after + 48);
}

void start(std::byte* object, const char* name, std::int64_t sequence) {
  put(object, kNameAt, name);
  put(object, kLayout.sequence, sequence);
  if (kLayout.twice) put(object, kLayout.sequence + 96, sequence);
  for (const auto& [handle, callback] : callbacks()) {
    if (callback.scopes[get<std::uint8_t>(object, kScopeAt + kLayout.shift)])
      callback.start(object);
  }
}

void finish(const std::byte* object) {
  for (const auto& [handle, callback] : callbacks())
    if (callback.scopes[get<std::uint8_t>(object, kScopeAt + kLayout.shift)])
      callback.end(object, nullptr);
}

bool inputs_wanted() {
  for (const auto& [handle, callback] : callbacks())
    if (callback.inputs) return true;
  return false;
}

void begin(std::byte* object, const FakeOperator& what) {
  construct(object, what.scope);
  const std::uint32_t inputs = kLayout.sequence + 8;
  if (what.inputs != nullptr && inputs_wanted()) {
    put(object, inputs, what.inputs->data());
    put<std::uint64_t>(object, inputs + 8, what.inputs->size());
    ++g_boxed;
  }
  put(object, inputs + 16 + (kLayout.has_map ? 56 : 0) + 24, what.forward_thread);
  start(object, what.name, what.sequence);
}

std::uint32_t callback_count() { return static_cast<std::uint32_t>(callbacks().size()); }
std::uint64_t boxed() { return g_boxed; }

/// RecordFunction::before's argument, in both of its forms.
const char* text_of(const char* name) { return name; }
struct Variant {
  std::size_t bytes;
  const char* text;
  std::size_t index;
};
[[maybe_unused]] const char* text_of(Variant name) { return name.index == 0 ? name.text : "?"; }

}  // namespace

EXPORT const FakeUndefined undefined_tensor asm("_ZN3c1019UndefinedTensorImpl10_singletonE") =
    kLayout.sizes;

EXPORT std::uint64_t add(Callback callback) asm(
    "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
std::uint64_t add(Callback callback) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_callbacks[g_next] = callback;
  return g_next++;
}

EXPORT void remove_one(std::uint64_t handle) asm("_ZN2at14removeCallbackEm");
void remove_one(std::uint64_t handle) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_callbacks.erase(handle);
}

EXPORT const char* name_of(const std::byte* object) asm("_ZNK2at14RecordFunction4nameEv");
const char* name_of(const std::byte* object) { return get<const char*>(object, kNameAt); }

EXPORT void make(std::byte* object, int scope) asm("_ZN2at14RecordFunctionC1ENS_11RecordScopeE");
void make(std::byte* object, int scope) { construct(object, static_cast<std::uint32_t>(scope)); }

EXPORT void unmake(std::byte* object) asm("_ZN2at14RecordFunctionD1Ev");
void unmake(std::byte* object) { finish(object); }

EXPORT void before(std::byte* object, FAKE_ARGUMENT name, std::int64_t sequence) asm(FAKE_BEFORE);
void before(std::byte* object, FAKE_ARGUMENT name, std::int64_t sequence) {
  start(object, text_of(name), sequence);
}

EXPORT std::uint64_t current_thread() asm("_ZN2at14RecordFunction15currentThreadIdEv");
std::uint64_t current_thread() { return thread_number(); }

EXPORT const void* const* tensor_type() asm("_ZN3c1010TensorType3getEv");
const void* const* tensor_type() { return &g_type_pointer; }

EXPORT bool is_tensor_list(const std::byte* value) asm("_ZNK3c106IValue12isTensorListEv");
bool is_tensor_list(const std::byte* value) {
  if (get<std::uint32_t>(value, 8) != kLayout.list_tag) return false;
  const auto* list = get<const std::byte*>(value, 0);
  return get<const void*>(list, kLayout.items + 24) == g_type_pointer;
}

EXPORT const FakeTorch fake_torch = {kLayout,
                                     &undefined_tensor,
                                     g_tensor_type,
                                     begin,
                                     [](std::byte* object) { finish(object); },
                                     callback_count,
                                     boxed};
