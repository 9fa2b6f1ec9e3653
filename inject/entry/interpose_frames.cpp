// SPDX-License-Identifier: Apache-2.0
//
// The program registers unwind tables of code that it has made, or takes them back: noted, so that
// stacks go on through such code, and passed on.
//
// Context:  boundary
// Promises: the call goes to the function that it had reached without us; a table is known here
//           only while it is registered there
#include <atomic>

#include "inject/entry/next_function.hpp"
#include "inject/frames/registered.hpp"
#include "inject/modules/elf_lookup.hpp"
#include "inject/modules/held.hpp"
#include "inject/modules/visit.hpp"

#define GPUPROF_EXPORT extern "C" __attribute__((visibility("default")))

GPUPROF_EXPORT void __register_frame(const void* section);
GPUPROF_EXPORT void __deregister_frame(const void* section);

namespace {

using Call = void (*)(const void*);
constinit std::atomic<Call> g_register{nullptr}, g_deregister{nullptr};

// Mostly the compiler's library came with the one that calls, and that one by dlopen, so that it is
// no library of the program's: the next one is then the caller's own. It is asked for each time,
// for there may be several.
Call next_of(std::atomic<Call>& known, const char* name, const void* ours, const void* caller) {
  const Call next = known.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  void* found = gpuprof::modules::symbol_seen_from(caller, name);
  // From the program itself ours is seen first; code that was made at run time has no module.
  if (found == ours || found == nullptr) found = gpuprof::modules::next_symbol(name);
  return reinterpret_cast<Call>(found);
}

int has_runtime(dl_phdr_info* module, std::size_t, void* ours) {
  return !gpuprof::modules::holds(*module, ours) &&
         gpuprof::modules::ModuleSymbols(*module).find("__register_frame") != 0;
}

// A look-up that finds nothing costs more, and leaves its message to the program's dlerror.
__attribute__((constructor)) void find_early() {
  if (gpuprof::modules::visit_listed(has_runtime, reinterpret_cast<void*>(__register_frame)) == 0)
    return;
  gpuprof::entry::next_function(g_register, "__register_frame");
  gpuprof::entry::next_function(g_deregister, "__deregister_frame");
}

}  // namespace

GPUPROF_EXPORT void __register_frame(const void* section) {
  const Call next = next_of(g_register, "__register_frame",
                            reinterpret_cast<void*>(__register_frame), __builtin_return_address(0));
  if (next != nullptr) next(section);
  gpuprof::frames::note_registered(section);
}

GPUPROF_EXPORT void __deregister_frame(const void* section) {
  gpuprof::frames::note_deregistered(section);
  const Call next =
      next_of(g_deregister, "__deregister_frame", reinterpret_cast<void*>(__deregister_frame),
              __builtin_return_address(0));
  if (next != nullptr) next(section);
}
