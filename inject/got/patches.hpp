// SPDX-License-Identifier: Apache-2.0
//
// Puts functions of ours in the place of others in the tables through which libraries call each
// other (GOT), and takes them out again: for a library that was loaded too late to be preloaded,
// and for names that it must not define.
//
// Context:  worker | boundary (one thread at a time)
// Owns:     what it remembers of replaced slots: mapped by the first apply(), gone after restore()
// Promises: writes only into slots that the loader's own list names, of modules that are mapped and
//           fully loaded; a slot that somebody else changed since is left alone; a page's
//           protection is the same afterwards as before
// Not here: what the functions do (cupti/interpose/interpose.cpp, entry/interpose_torch.cpp)
#pragma once

#include <cstdint>

#include "gpuprof/base/loader_counts.hpp"

namespace gpuprof::got {

/// One function that is called through us.
struct Replacement {
  const char* name = nullptr;  // as in a dynamic symbol table, without its version
  void* ours = nullptr;
  /// Calls of it by the library that defines it go through us, too.
  bool in_definer = false;
};

/// Whether the definitions of this library come before all others' (LD_PRELOAD): then the loader
/// has bound every caller to them and nothing is to be replaced. Determined once.
bool is_preloaded();

struct PatchCounts {
  std::uint32_t slots;    // that hold our functions now
  std::uint32_t refused;  // that could not be written
};

/// A set of replacements and the slots they are in.
class Patches {
 public:
  /// @param rows  Ends with a row without a name; kept.
  explicit constexpr Patches(const Replacement* rows) : rows_(rows) {}

  /// Replaces in all modules but this one, the C library and the loader. Called again, it examines
  /// the modules that were loaded since; without any it costs one query to the loader. While
  /// somebody is inside dlopen it does nothing: the next call does.
  PatchCounts apply();

  /// The same, once, only in the modules that the program started with: they are relocated, so that
  /// there is nobody to wait for.
  PatchCounts apply_to_initial();

  /// Writes back what was there, where our function still is. The functions may be running, or be
  /// called once more by whoever has read a slot before.
  void restore();

  std::uint32_t slots() const { return slot_count_; }

 private:
  friend class PatchWalk;
  bool has_memory();

  static constexpr std::uint32_t kMaxSlots = 256;
  static constexpr std::uint32_t kMaxModules = 2048;

  struct Slot {
    std::uintptr_t* at;
    std::uintptr_t before, replacement;
  };
  struct Memory {
    Slot slots[kMaxSlots];
    std::uintptr_t modules[kMaxModules];  // bases of those examined
  };

  const Replacement* rows_;
  Memory* memory_ = nullptr;
  std::uint32_t slot_count_ = 0, module_count_ = 0, refused_ = 0;
  base::LoaderCounts seen_;  // when last looked
  std::uint64_t subs_ = 0;   // of them, when `modules` was filled
};

}  // namespace gpuprof::got
