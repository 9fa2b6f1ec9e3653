// SPDX-License-Identifier: Apache-2.0
//
// The search order.
//
// Context:  worker | boundary
// Owns:     nothing
#include "inject/cupti/library/locate.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>

#include "inject/cupti/library/mapped_libraries.hpp"
#include "inject/messages/cupti.hpp"

namespace gpuprof::cupti {

namespace {

constexpr std::uint32_t kMaxCopies = 8;

// A SONAME per minor up to 11.8, per major from 12.
constexpr const char* kSonames[] = {
    "libcupti.so.14",   "libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
    "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4",
    "libcupti.so.11.3", "libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so.11.0",
};

// Libraries that call CUPTI: the copy among several that serves one of them is the right one.
constexpr const char* kUsers[] = {"libtorch_cpu",     "libtorch_cuda",           "libkineto",
                                  "libtensorflow_cc", "libtensorflow_framework", "xla_cuda_plugin"};

/// Tries copies one after another until one is taken.
class Search {
 public:
  Search(const Driver& driver, CuptiLibrary* copy, Api* api)
      : driver_(driver), copy_(copy), api_(api) {}

  bool mapped() {
    MappedLibrary found[kMaxCopies];
    std::uint32_t count = find_mapped_libraries("libcupti.so", found, kMaxCopies);
    if (count == 0)
      count = find_mapped_libraries("libcupti-", found, kMaxCopies);  // bundlers add a hash
    copy_->mapped_copies = count;
    if (count == 0) return false;
    if (count > 1 && used_by_framework()) return true;
    return newest(found, count < kMaxCopies ? count : kMaxCopies);
  }

  bool beside_runtime() {
    MappedLibrary runtime;
    if (find_mapped_libraries("libcudart", &runtime, 1) == 0 || runtime.path[0] != '/')
      return false;
    char folder[512];
    copy_text(folder, sizeof folder, runtime.path);
    char* slash = std::strrchr(folder, '/');
    if (slash == nullptr) return false;
    *slash = '\0';
    if (in_folder(folder, "", LibraryOrigin::kBesideRuntime)) return true;
    return in_folder(folder, "/../../cuda_cupti/lib", LibraryOrigin::kBesideRuntime);
  }

  // The user's own word goes before what happens to be installed.
  bool library_path() {
    const char* at = getenv("LD_LIBRARY_PATH");
    char folder[512];
    while (at != nullptr && *at != '\0') {
      const std::size_t bytes = std::strcspn(at, ":;");
      if (bytes != 0 && bytes < sizeof folder) {
        std::memcpy(folder, at, bytes);
        folder[bytes] = '\0';
        if (in_folder(folder, "", LibraryOrigin::kLibraryPath)) return true;
      }
      at += bytes + (at[bytes] != '\0' ? 1 : 0);
    }
    return false;
  }

  bool toolkit() {
    static constexpr const char* kRoots[] = {"/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"};
    static constexpr const char* kFolders[] = {"/extras/CUPTI/lib64", "/lib64",
                                               "/targets/" GPUPROF_CUDA_TARGET "/lib"};
    for (const char* root : kRoots)
      for (const char* folder : kFolders)
        if (in_folder(root, folder, LibraryOrigin::kToolkit)) return true;
    return versioned_toolkits(kFolders, 3);
  }

  bool linker() {
    for (const char* name : kSonames)
      if (fits(name) && open(name, LibraryOrigin::kLinker)) return true;
    return open("libcupti.so", LibraryOrigin::kLinker);
  }

 private:
  // /usr/local/cuda-13.0 and its like, newest minor first, for the majors the driver allows.
  bool versioned_toolkits(const char* const* folders, std::uint32_t folder_count) {
    char root[64];
    for (std::uint32_t major = driver_major() != 0 ? driver_major() : 14; major >= 11; --major)
      for (std::uint32_t minor = 10; minor-- > 0;)
        for (std::uint32_t i = 0; i < folder_count; ++i) {
          snprintf(root, sizeof root, "/usr/local/cuda-%u.%u", major, minor);
          if (in_folder(root, folders[i], LibraryOrigin::kToolkit)) return true;
        }
    return false;
  }

  std::uint32_t driver_major() const { return driver_.version / 1000; }

  // "libcupti.so.13" → 13, judged before anything is mapped.
  bool fits(const char* soname) {
    const char* number = std::strstr(soname, ".so.");
    const std::uint32_t major =
        number != nullptr ? static_cast<std::uint32_t>(atoi(number + 4)) : 0;
    return driver_major() == 0 || major == 0 || major <= driver_major();
  }

  bool in_folder(const char* root, const char* folder, LibraryOrigin origin) {
    char path[640];
    for (const char* name : kSonames) {
      snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
      if (access(path, R_OK) != 0) continue;
      if (!fits(name))
        refuse_too_new(path);
      else if (open(path, origin))
        return true;
    }
    return false;
  }

  bool used_by_framework() {
    MappedLibrary user;
    for (const char* prefix : kUsers) {
      if (find_mapped_libraries(prefix, &user, 1) == 0) continue;
      // Through the user's own handle only what it depends on is searched, never a preload.
      const void* function = pin_library(user.path).symbol("cuptiGetVersion");
      const char* path = function != nullptr ? modules::module_path_of(function) : nullptr;
      if (path != nullptr && take(pin_library(path), path, LibraryOrigin::kFramework)) return true;
    }
    return false;
  }

  bool newest(const MappedLibrary* found, std::uint32_t count) {
    Api best{};
    const MappedLibrary* selected = nullptr;
    for (std::uint32_t i = 0; i < count; ++i) {
      const modules::PinnedModule library = pin_library(found[i].path);
      Api api{};
      if (!library) continue;
      if (load_api(library, &api, nullptr) && !too_new(api, found[i].path) &&
          (selected == nullptr || api.version > best.version)) {
        best = api;
        selected = &found[i];
      }
    }
    return selected != nullptr &&
           take(pin_library(selected->path), selected->path, LibraryOrigin::kMapped);
  }

  bool too_new(const Api& api, const char* path) {
    if (driver_major() == 0 || cuda_major_of(api.version) <= driver_major()) return false;
    refuse_too_new(path);
    return true;
  }

  bool open(const char* path, LibraryOrigin origin) {
    return take(modules::PinnedModule::load_and_pin(path), path, origin);
  }

  bool take(const modules::PinnedModule& library, const char* path, LibraryOrigin origin) {
    if (!library) return false;
    const char* missing = nullptr;
    if (!load_api(library, api_, &missing)) {
      snprintf(copy_->refused, sizeof copy_->refused, messages::cupti::kCuptiLacks, path,
               missing != nullptr ? missing : messages::cupti::kAVersion);
      return false;
    }
    if (too_new(*api_, path)) return false;
    copy_->handle = library;
    copy_->origin = origin;
    const char* real = modules::module_path_of(reinterpret_cast<void*>(api_->cuptiGetVersion));
    const bool named = real != nullptr && real[0] != '\0';
    copy_text(copy_->path, sizeof copy_->path, named ? real : path);
    copy_->simulated = library.symbol("gpuprof_simulated_gpu") != nullptr;
    return true;
  }

  void refuse_too_new(const char* path) {
    char shown[128];
    copy_text(shown, sizeof shown, path);
    snprintf(copy_->refused, sizeof copy_->refused, messages::cupti::kCuptiTooNew, shown,
             driver_.version / 1000, driver_.version % 1000 / 10);
  }

  const Driver& driver_;
  CuptiLibrary* copy_;
  Api* api_;
};

}  // namespace

const char* origin_text(LibraryOrigin origin) {
  switch (origin) {
    case LibraryOrigin::kNone:
      return "none";
    case LibraryOrigin::kFramework:
      return "used by the framework";
    case LibraryOrigin::kMapped:
      return "already mapped";
    case LibraryOrigin::kBesideRuntime:
      return "beside the CUDA runtime";
    case LibraryOrigin::kLibraryPath:
      return "in LD_LIBRARY_PATH";
    case LibraryOrigin::kToolkit:
      return "in the CUDA toolkit";
    case LibraryOrigin::kLinker:
      return "found by the dynamic linker";
  }
  return "none";
}

bool locate_cupti(const Driver& driver, CuptiLibrary* copy, Api* api) {
  Search search(driver, copy, api);
  return search.mapped() || search.beside_runtime() || search.library_path() || search.toolkit() ||
         search.linker();
}

}  // namespace gpuprof::cupti
