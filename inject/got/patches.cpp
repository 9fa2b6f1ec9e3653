// SPDX-License-Identifier: Apache-2.0
//
// Visits modules; what is written is written while the list of them cannot change.
//
// Context:  worker
#include <link.h>
#include <sys/mman.h>

#include <cstring>

#include "inject/got/got_slots.hpp"
#include "inject/got/patches.hpp"
#include "inject/got/slot_write.hpp"
#include "inject/modules/module_list.hpp"
#include "inject/modules/module_symbols.hpp"

namespace gpuprof::got {
namespace {

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// Ourselves, the C library, the loader, and what the kernel maps.
bool is_excluded(const dl_phdr_info& module) {
  if (modules::contains_address(module, reinterpret_cast<const void*>(&is_excluded))) return true;
  const char* name = modules::file_name(module);
  return starts_with(name, "libc.so.") || modules::is_loader(module) ||
         starts_with(name, "linux-vdso");
}

}  // namespace

/// One walk over all modules.
class PatchWalk {
 public:
  /// @param most  Modules, from the first on.
  explicit PatchWalk(Patches& to, std::uint32_t most = UINT32_MAX) : to_(to), most_(most) {}

  /// False: somebody is inside dlopen; nothing was done.
  bool replace_in_loaded(base::LoaderCounts* seen) {
    return modules::visit_loaded_modules(replace_in_module, this, seen) ==
           modules::VisitResult::kDone;
  }
  /// Of the first ones alone, which are relocated whatever is being loaded.
  void replace_in_first() { modules::visit_listed_modules(replace_in_module, this); }
  void restore() { modules::visit_listed_modules(restore_in_module, this); }

 private:
  static int replace_in_module(dl_phdr_info* info, std::size_t size, void* data) {
    auto& pass = *static_cast<PatchWalk*>(data);
    if (pass.most_-- == 0) return 1;
    pass.forget_if_some_went(base::loader_counts(*info, size));
    if (!is_excluded(*info) && pass.is_new(*info)) pass.replace_in(*info);
    return 0;
  }

  // Another module may be where one was that is gone.
  void forget_if_some_went(const base::LoaderCounts& now) {
    if (to_.subs_ != now.subs) to_.module_count_ = 0;
    to_.subs_ = now.subs;
  }

  static int restore_in_module(dl_phdr_info* info, std::size_t, void* data) {
    auto& pass = *static_cast<PatchWalk*>(data);
    const GotSlots module(*info);
    Patches& to = pass.to_;
    for (std::uint32_t i = 0; i < to.slot_count_; ++i) {
      const Patches::Slot& slot = to.memory_->slots[i];
      // Mapped, as it lies in this module; ours, unless that is another one in the same place.
      if (!modules::contains_address(*info, slot.at)) continue;
      if (__atomic_load_n(slot.at, __ATOMIC_RELAXED) == slot.replacement)
        write_slot(slot.at, slot.before, module.is_protected(slot.at));
    }
    return 0;
  }

  bool is_new(const dl_phdr_info& info) {
    const auto base = static_cast<std::uintptr_t>(info.dlpi_addr);
    for (std::uint32_t i = 0; i < to_.module_count_; ++i)
      if (to_.memory_->modules[i] == base) return false;
    if (to_.module_count_ < Patches::kMaxModules) to_.memory_->modules[to_.module_count_++] = base;
    return true;
  }

  void replace_in(const dl_phdr_info& info) {
    const GotSlots module(info);
    forget_other_module(info);
    module.for_each([this, &module](const char* name, std::uintptr_t* at, bool defined_here) {
      for (const Replacement* row = to_.rows_; row->name != nullptr; ++row) {
        if ((defined_here && !row->in_definer) || std::strcmp(row->name, name) != 0) continue;
        put(*row, at, module.is_protected(at));
        return;
      }
    });
  }

  void put(const Replacement& row, std::uintptr_t* at, bool read_only) {
    const auto ours = reinterpret_cast<std::uintptr_t>(row.ours);
    const std::uintptr_t before = __atomic_load_n(at, __ATOMIC_RELAXED);
    // 0: a weak reference that nobody defines; the program asks for that.
    if (before == 0 || before == ours) return;
    if (to_.slot_count_ == Patches::kMaxSlots || !write_slot(at, ours, read_only)) {
      ++to_.refused_;
      return;
    }
    to_.memory_->slots[to_.slot_count_++] = {at, before, ours};
  }

  // What is remembered of this place and does not hold any more.
  void forget_other_module(const dl_phdr_info& info) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < to_.slot_count_; ++i) {
      const Patches::Slot slot = to_.memory_->slots[i];
      if (modules::contains_address(info, slot.at) &&
          __atomic_load_n(slot.at, __ATOMIC_RELAXED) != slot.replacement)
        continue;
      to_.memory_->slots[kept++] = slot;
    }
    to_.slot_count_ = kept;
  }

  Patches& to_;
  std::uint32_t most_;
};

// What the program came with is searched in the order of the list: the program, what is preloaded,
// and behind it the C library, which defines this.
bool is_preloaded() {
  static bool s_asked = false, s_in_front = false;
  if (s_asked) return s_in_front;
  s_asked = true;
  modules::visit_listed_modules(
      [](dl_phdr_info* info, std::size_t, void*) {
        if (modules::ModuleSymbols(*info).find("_exit") == 0) return 0;
        s_in_front = modules::contains_address(*info, reinterpret_cast<const void*>(&is_preloaded));
        return 1;
      },
      nullptr);
  return s_in_front;
}

bool Patches::has_memory() {
  if (memory_ != nullptr) return true;
  void* memory =
      mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<Memory*>(memory);
  return true;
}

PatchCounts Patches::apply() {
  if (memory_ != nullptr && base::loader_counts() == seen_) return {slot_count_, refused_};
  if (!has_memory()) return {0, 1};
  PatchWalk(*this).replace_in_loaded(&seen_);
  return {slot_count_, refused_};
}

PatchCounts Patches::apply_to_initial() {
  if (memory_ != nullptr) return {slot_count_, refused_};
  if (!has_memory()) return {0, 1};
  PatchWalk(*this, modules::initial_module_count()).replace_in_first();
  return {slot_count_, refused_};
}

void Patches::restore() {
  if (memory_ == nullptr) return;
  PatchWalk(*this).restore();
  munmap(memory_, sizeof(Memory));
  memory_ = nullptr;
  slot_count_ = module_count_ = refused_ = 0;
  seen_ = {};
  subs_ = 0;
}

}  // namespace gpuprof::got
