// SPDX-License-Identifier: Apache-2.0
//
// Walks the loader's list; what is written is written while that list cannot change.
//
// Context:  worker
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>

#include "inject/got/got.hpp"
#include "inject/got/module_slots.hpp"
#include "inject/got/slot_write.hpp"

namespace gpuprof::got {
namespace {

// Returns when no dlopen is under way any more that was before: what it maps is relocated then,
// and its read-only pages are.
void wait_for_loader() {
  void* self = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (self != nullptr) dlclose(self);
}

bool holds(const dl_phdr_info& module, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = module.dlpi_phdr[i];
    const std::uintptr_t begin = module.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && at >= begin && at < begin + part.p_memsz) return true;
  }
  return false;
}

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

const char* name_of(const dl_phdr_info& module) {
  const char* path = module.dlpi_name != nullptr ? module.dlpi_name : "";
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool is_loader(const dl_phdr_info& module) { return starts_with(name_of(module), "ld-linux"); }

// Ourselves, the C library, the loader, and what the kernel maps.
bool is_left_alone(const dl_phdr_info& module) {
  if (holds(module, reinterpret_cast<const void*>(&is_left_alone))) return true;
  const char* name = name_of(module);
  return starts_with(name, "libc.so.") || is_loader(module) || starts_with(name, "linux-vdso");
}

// The loader's list begins with what the program started with, itself among it, nearly always as
// the last of them; what comes by dlopen is put behind.
std::uint32_t first_modules() {
  struct Look {
    std::uint32_t seen = 0, first = 1;
  } look;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& to = *static_cast<Look*>(data);
        ++to.seen;
        if (!is_loader(*info)) return 0;
        to.first = to.seen;
        return 1;
      },
      &look);
  return look.first;
}

}  // namespace

/// One walk over all modules.
class Pass {
 public:
  /// @param most  Modules, from the first on.
  Pass(Patches& to, const base::LoaderCounts& wanted, std::uint32_t most = UINT32_MAX)
      : to_(to), wanted_(wanted), most_(most) {}

  /// False: the list changed since `wanted`.
  bool replace() {
    // Another module may be where one was that is gone.
    if (to_.seen_.subs != wanted_.subs) to_.module_count_ = 0;
    dl_iterate_phdr(replace_in_module, this);
    return steady_;
  }
  void restore() { dl_iterate_phdr(restore_in_module, this); }

 private:
  static int replace_in_module(dl_phdr_info* info, std::size_t size, void* data) {
    auto& pass = *static_cast<Pass*>(data);
    // The counters cannot change while we are here.
    pass.steady_ = base::loader_counts(*info, size) == pass.wanted_;
    if (!pass.steady_ || pass.most_-- == 0) return 1;
    if (!is_left_alone(*info) && pass.is_new(*info)) pass.replace_in(*info);
    return 0;
  }

  static int restore_in_module(dl_phdr_info* info, std::size_t, void* data) {
    auto& pass = *static_cast<Pass*>(data);
    const ModuleSlots module(*info);
    Patches& to = pass.to_;
    for (std::uint32_t i = 0; i < to.slot_count_; ++i) {
      const Patches::Slot& slot = to.memory_->slots[i];
      // Mapped, as it lies in this module; ours, unless that is another one in the same place.
      if (!holds(*info, slot.at)) continue;
      if (__atomic_load_n(slot.at, __ATOMIC_RELAXED) == slot.ours)
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
    const ModuleSlots module(info);
    forget_other_module(info);
    module.for_each([this, &module](const char* name, std::uintptr_t* at, bool defined_here) {
      for (const Replacement* row = to_.rows_; row->name != nullptr; ++row) {
        if ((defined_here && !row->own_calls) || std::strcmp(row->name, name) != 0) continue;
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
      if (holds(info, slot.at) && __atomic_load_n(slot.at, __ATOMIC_RELAXED) != slot.ours) continue;
      to_.memory_->slots[kept++] = slot;
    }
    to_.slot_count_ = kept;
  }

  Patches& to_;
  base::LoaderCounts wanted_;
  std::uint32_t most_;
  bool steady_ = false;
};

bool in_front() {
  static bool s_asked = false, s_in_front = false;
  if (s_asked) return s_in_front;
  s_asked = true;
  // Through the program's own handle its scope is searched, preloaded libraries first; of a library
  // that came by dlopen it knows nothing.
  void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  void* found = program != nullptr ? dlsym(program, "_exit") : nullptr;
  if (program != nullptr) dlclose(program);
  Dl_info that{}, own{};
  s_in_front = found != nullptr && dladdr(found, &that) != 0 &&
               dladdr(reinterpret_cast<void*>(&in_front), &own) != 0 &&
               that.dli_fbase == own.dli_fbase;
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

namespace {
constexpr int kTries = 3;
}  // namespace

Counts Patches::follow() {
  for (int i = 0; i < kTries; ++i) {
    const base::LoaderCounts now = base::loader_counts();
    if (memory_ != nullptr && now == seen_) break;
    if (!has_memory()) return {0, 1};
    wait_for_loader();
    if (!Pass(*this, now).replace()) continue;
    seen_ = now;
  }
  return {slot_count_, refused_};
}

Counts Patches::follow_first() {
  if (memory_ != nullptr) return {slot_count_, refused_};
  if (!has_memory()) return {0, 1};
  for (int i = 0; i < kTries; ++i)
    if (Pass(*this, base::loader_counts(), first_modules()).replace()) break;
  return {slot_count_, refused_};
}

void Patches::restore() {
  if (memory_ == nullptr) return;
  Pass(*this, {}).restore();
  munmap(memory_, sizeof(Memory));
  memory_ = nullptr;
  slot_count_ = module_count_ = refused_ = 0;
  seen_ = {};
}

}  // namespace gpuprof::got
