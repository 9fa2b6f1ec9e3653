// SPDX-License-Identifier: Apache-2.0
//
// Finds the interpreter among the mapped modules and decides how it is read.
//
// Context:  worker
// Owns:     one Runtime in static storage for each interpreter found
// Promises: one notice for an interpreter that cannot be read, never two for the same
// Not here: reading frames (frame_walk.hpp)
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/loader_counts.hpp"
#include "inject/hot/outbox.hpp"
#include "inject/hot/segment_lifetime.hpp"
#include "inject/hot/worker/worker_thread.hpp"
#include "inject/messages/python.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"
#include "inject/modules/pinned_module.hpp"
#include "inject/python/frames/code_id_cache.hpp"
#include "inject/python/frames/fast_frames.hpp"
#include "inject/python/frames/frames.hpp"
#include "inject/python/loops/code_loops.hpp"
#include "inject/python/loops/loop_state.hpp"
#include "inject/python/runtime/runtime.hpp"

namespace gpuprof::python {
namespace {

/// What the modules told about the first interpreter in them.
struct RuntimeCandidate {
  std::uint64_t runtime = 0, version = 0, code_type = 0, this_state = 0;
  std::uint32_t version_hex = 0;  // what Py_Version holds, 0: there is none
  bool iter_send = false, get_frame = false, init_config = false;  // first in 3.10, 3.9, 3.8
  bool byte_strings = false;                                       // last in 2.7
  bool any_python = false;
  bool named = false;  // the module of `runtime` has a path of its own: not the program
  char path[512] = {};
  std::byte table[kDebugOffsetsBytes] = {};  // what `runtime` begins with
};

void take_path(const dl_phdr_info& module, RuntimeCandidate* found) {
  const char* name = module.dlpi_name != nullptr ? module.dlpi_name : "";
  // The executable itself has no name in the list; the rest of the array is zero.
  found->named = name[0] != '\0';
  if (found->named)
    snprintf(found->path, sizeof found->path, "%s", name);
  else if (readlink("/proc/self/exe", found->path, sizeof found->path - 1) < 0)
    snprintf(found->path, sizeof found->path, "%s", messages::python::kExecutable);
}

void read_runtime(const dl_phdr_info& module, RuntimeCandidate* found) {
  if (modules::is_mapped_in(module, found->runtime, sizeof found->table, PF_R))
    memcpy(found->table, reinterpret_cast<const void*>(found->runtime), sizeof found->table);
  take_path(module, found);
}

/// Symbols are taken in load order, as the loader binds them; a data symbol may have been copied
/// into the executable.
void scan_module(const dl_phdr_info& module, RuntimeCandidate* found) {
  const modules::ModuleSymbols symbols(module);
  const std::uint64_t runtime = symbols.find("_PyRuntime");
  if (runtime != 0 && found->runtime == 0) {
    found->runtime = runtime;
    read_runtime(module, found);
  }
  const auto first = [&](const char* name, std::uint64_t* to) {
    if (*to == 0) *to = symbols.find(name);
  };
  const std::uint64_t before = found->this_state, no_version = found->version;
  first("PyGILState_GetThisThreadState", &found->this_state);
  first("Py_Version", &found->version);
  if (found->version != no_version &&
      modules::is_mapped_in(module, found->version, sizeof found->version_hex, PF_R))
    found->version_hex = base::load<std::uint32_t>(reinterpret_cast<const void*>(found->version));
  first("PyCode_Type", &found->code_type);
  if (found->this_state == before) return;
  found->any_python = true;
  if (found->path[0] == '\0') take_path(module, found);  // before 3.7 there is no _PyRuntime
  found->byte_strings = symbols.find("PyString_FromString") != 0;
  found->iter_send = symbols.find("PyIter_Send") != 0;
  found->get_frame = symbols.find("PyThreadState_GetFrame") != 0;
  found->init_config = symbols.find("PyConfig_InitPythonConfig") != 0;
}

modules::VisitResult scan_modules(RuntimeCandidate* found, base::LoaderCounts* counts) {
  return modules::visit_loaded_modules(
      [](dl_phdr_info* module, std::size_t, void* to) {
        scan_module(*module, static_cast<RuntimeCandidate*>(to));
        return 0;
      },
      found, counts);
}

/// What the modules tell; null while somebody is inside dlopen. They are asked once as long as they
/// are the same.
const RuntimeCandidate* found_in_modules() {
  static RuntimeCandidate s_found;  // the worker's stack is small
  static base::LoaderCounts s_seen;
  if (base::loader_counts() == s_seen) return &s_found;
  s_found = RuntimeCandidate{};
  s_seen = {};
  return scan_modules(&s_found, &s_seen) == modules::VisitResult::kDone ? &s_found : nullptr;
}

/// Whether the program has begun to use it: then it has an interpreter.
bool has_begun(const RuntimeCandidate& found, const Offsets& at) {
  struct Look {
    std::uint64_t head;
    bool begun;
  } look{found.runtime + at.runtime_interpreters, false};
  modules::visit_listed_modules(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& to = *static_cast<Look*>(data);
        if (!modules::is_mapped_in(*module, to.head, sizeof to.head, PF_R)) return 0;
        to.begun = base::load<std::uint64_t>(reinterpret_cast<const void*>(to.head)) != 0;
        return 1;
      },
      &look);
  return look.begun;
}

/// 0xMMmmppRL as Py_Version has it; before 3.11 without the patch level, from what is exported.
std::uint32_t version_of(const RuntimeCandidate& found) {
  if (found.version_hex != 0) return found.version_hex;
  if (found.runtime == 0) return found.byte_strings ? 0x02070000 : 0x03060000;  // since 3.7
  const std::uint32_t minor = found.iter_send     ? 10
                              : found.get_frame   ? 9
                              : found.init_config ? 8
                                                  : 7;
  return 0x03000000 | minor << 16;
}

void version_text(std::uint32_t version, char* to, std::size_t room) {
  const unsigned major = version >> 24, minor = (version >> 16) & 0xff,
                 patch = (version >> 8) & 0xff;
  if ((version & 0xffff) != 0)
    snprintf(to, room, "%u.%u.%u", major, minor, patch);
  else
    snprintf(to, room, "%u.%u", major, minor);
}

void refuse(const char* version, const char* why) {
  char text[256];
  snprintf(text, sizeof text, messages::python::kFramesMissing, version, why);
  hot::send_notice(wire::Feature::kPython, wire::NoticeLevel::kMissing, 0, text);
}

/// Offsets for this interpreter, or why there are none.
const char* choose_offsets(const RuntimeCandidate& found, std::uint32_t minor, Offsets* out) {
  if (minor < kFirstSelfDescribing) {
    const Offsets* built_in = built_in_offsets(minor);
    if (built_in == nullptr) return messages::python::kUnknownLayout;
    *out = *built_in;
    return nullptr;
  }
  switch (parse_debug_offsets(found.table, sizeof found.table, minor, out)) {
    case DebugOffsets::kOk:
      break;
    case DebugOffsets::kFreeThreaded:
      return messages::python::kFreeThreaded;
    case DebugOffsets::kNoCookie:
      return messages::python::kNoOffsets;
    case DebugOffsets::kOtherVersion:
      return messages::python::kOtherOffsets;
    case DebugOffsets::kImplausible:
      return messages::python::kInvalidOffsets;
  }
  return nullptr;
}

void report_changed_offsets(const Offsets& at) {
  const Offsets* built_in = built_in_offsets(at.minor);
  if (built_in != nullptr && !(*built_in == at))
    hot::send_notice(wire::Feature::kPython, wire::NoticeLevel::kInfo, 0,
                     messages::python::kOffsetsDiffer);
}

std::uint32_t largest(std::initializer_list<std::uint32_t> ends) {
  std::uint32_t most = 0;
  for (const std::uint32_t end : ends)
    if (end < kNone && end > most) most = end;
  return most + 8;
}

/// Addresses of the interpreter that is read, and of one that cannot be.
std::uint64_t g_known = 0, g_refused = 0;

/// A handler may be looking at the old one, so each gets a place of its own; a session that sees
/// more interpreters than this one after the other keeps the last.
Runtime g_places[4];
unsigned g_places_used = 0;

Runtime* next_place() { return g_places_used < 4 ? &g_places[g_places_used++] : nullptr; }

void publish(const RuntimeCandidate& found, const Offsets& at) {
  Runtime* runtime = next_place();
  if (runtime == nullptr) return;
  runtime->offsets = at;
  runtime->address = found.runtime;
  runtime->code_type = found.code_type;
  runtime->this_state = reinterpret_cast<void* (*)()>(found.this_state);
  runtime->frame_bytes =
      largest({at.frame_code, at.frame_previous, at.frame_instr, at.frame_owner});
  runtime->code_bytes = largest({at.code_file, at.code_name, at.code_qualname, at.code_first_line,
                                 at.code_table, at.bytes_length, at.object_type});
  runtime->tid_in_pthread = hot::glibc_tid_offset();
  // Resolves the interpreter's own lazy binding here and not in a handler. It is loaded and held.
  if (runtime->this_state != nullptr) runtime->this_state();
  g_minor.store(static_cast<int>(at.minor), std::memory_order_relaxed);
  g_runtime.store(runtime, std::memory_order_release);  // pairs with read_current_frames
}

/// What is looked for again although no module came: one whose load was not over, or that the
/// program has not begun to use.
bool g_waits = false;

bool retry_later() {
  g_waits = true;
  return false;
}

/// Keeps the module where it is (ADR 0027): its functions are called from now on.
bool hold(const RuntimeCandidate& found) {
  return static_cast<bool>(modules::PinnedModule::pin(found.named ? found.path : ""));
}

void report_version(const RuntimeCandidate& found, const char* version) {
  hot::send_fact("python.version", version);
  hot::send_fact("python.library", found.path);
}

bool refuse_once(const RuntimeCandidate& found, const char* version, const char* why) {
  g_refused = found.runtime != 0 ? found.runtime : found.this_state;
  report_version(found, version);
  refuse(version, why);
  return true;
}

bool take(const RuntimeCandidate& found) {
  const std::uint32_t version = version_of(found);
  char text[32];
  version_text(version, text, sizeof text);
  const std::uint32_t minor = (version >> 16) & 0xff;
  Offsets at;
  if (version >> 24 != 3 || minor < kOldestMinor || minor > kNewestMinor)
    return refuse_once(found, text, messages::python::kUnsupportedVersion);
  if (const char* why = choose_offsets(found, minor, &at); why != nullptr)
    return refuse_once(found, text, why);
  if (!has_begun(found, at) || !hold(found)) return retry_later();
  report_version(found, text);
  if (minor >= kFirstSelfDescribing) report_changed_offsets(at);
  g_known = found.runtime;
  publish(found, at);
  return true;
}

}  // namespace

bool find_runtime() {
  g_waits = false;
  if (g_known != 0) return true;  // and held
  const RuntimeCandidate* found = found_in_modules();
  if (found == nullptr) return retry_later();
  if (!found->any_python && found->runtime == 0) return false;
  const std::uint64_t identity = found->runtime != 0 ? found->runtime : found->this_state;
  return identity == g_refused || take(*found);
}

bool is_runtime_pending() { return g_waits; }

void release() {
  g_runtime.store(nullptr, std::memory_order_release);
  g_known = g_refused = 0;
  g_waits = false;
  reset_thread_states();
  // Whoever is still inside may hold a place, an entry or a code object's loops.
  if (!hot::no_thread_inside()) return;
  g_places_used = 0;
  g_code_ids.clear();
  unmap_code_loops();
  reset_layout_validation();
  reset_loop_state_validation();
}

}  // namespace gpuprof::python
