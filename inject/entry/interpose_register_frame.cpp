// SPDX-License-Identifier: Apache-2.0
//
// The program registers unwind tables of code that it has made, or takes them back: noted, so that
// stacks go on through such code, and passed on.
//
// Context:  boundary
// Promises: the call goes to the function that it had reached without us; a table is
//           known here only while it is registered there
//
// Nothing is looked up before the first call: most programs make none, and the loader allocates
// what it says of a name that it does not find.
#include <atomic>

#include "inject/eh_frames/registered_tables.hpp"
#include "inject/modules/pinned_module.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Call = void (*)(const void*);

struct Next {
  const char* name;
  std::atomic<Call> call{nullptr};  // of what the program began with, which stays
  std::atomic<bool> asked{false};
};
constinit Next g_register{"__register_frame"}, g_deregister{"__deregister_frame"};

// Mostly the compiler's library came with the one that calls, and that one by dlopen, so that it is
// no library of the program's: the next one is then the caller's own. It is asked for each time,
// for there may be several.
Call next_of(Next& next, const void* caller) {
  if (!next.asked.load(std::memory_order_acquire)) {
    next.call.store(reinterpret_cast<Call>(gpuprof::modules::next_symbol(next.name)),
                    std::memory_order_relaxed);
    next.asked.store(true, std::memory_order_release);
  }
  const Call known = next.call.load(std::memory_order_relaxed);
  if (known != nullptr) return known;
  void* seen = gpuprof::modules::symbol_from_caller(caller, next.name);
  // Code that was made at run time has no module; what all see may have come since.
  if (seen == nullptr) seen = gpuprof::modules::next_symbol(next.name);
  return reinterpret_cast<Call>(seen);
}

}  // namespace

GPUPROF_EXPORT void __register_frame(const void* section) {
  const Call next = next_of(g_register, __builtin_return_address(0));
  if (next != nullptr && next != __register_frame) next(section);
  gpuprof::frames::on_register_frame(section);
}

GPUPROF_EXPORT void __deregister_frame(const void* section) {
  gpuprof::frames::on_deregister_frame(section);
  const Call next = next_of(g_deregister, __builtin_return_address(0));
  if (next != nullptr && next != __deregister_frame) next(section);
}
