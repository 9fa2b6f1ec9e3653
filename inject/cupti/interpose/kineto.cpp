// SPDX-License-Identifier: Apache-2.0
//
// Three symbols of libtorch_cpu.
//
// Context:  worker
#include "inject/cupti/interpose/kineto.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "inject/cupti/library/mapped_libraries.hpp"

namespace gpuprof::cupti {

namespace {

constexpr char kApi[] = "_ZN9libkineto3apiEv";
constexpr char kTable[] = "_ZTVN9libkineto21ActivityProfilerProxyE";
constexpr char kIsActive[] = "_ZN9libkineto21ActivityProfilerProxy8isActiveEv";
// The table begins with two words that an object's pointer leaves out.
constexpr std::uintptr_t kTableHead = 2 * sizeof(void*);

// Cannot fault: the address may be anything.
bool read_words(std::uintptr_t from, std::uintptr_t* to, std::size_t count) {
  iovec local{to, count * sizeof *to}, remote{reinterpret_cast<void*>(from), count * sizeof *to};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(count * sizeof *to);
}

// libkineto::api() holds a pointer to its profiler near its beginning; null before the first use.
std::uintptr_t profiler_in(std::uintptr_t api, std::uintptr_t table) {
  constexpr std::size_t kWords = 8;
  std::uintptr_t words[kWords], first = 0;
  if (!read_words(api, words, kWords)) return 0;
  for (const std::uintptr_t word : words)
    if (word != 0 && word % sizeof word == 0 && read_words(word, &first, 1) &&
        first == table + kTableHead)
      return word;
  return 0;
}

bool is_active(const modules::PinnedModule& library) {
  const auto api = library.function<void* (*)()>(kApi);
  const auto active = library.function<bool (*)(std::uintptr_t)>(kIsActive);
  void* table = library.symbol(kTable);
  if (api == nullptr || active == nullptr || table == nullptr) return false;
  const std::uintptr_t profiler =
      profiler_in(reinterpret_cast<std::uintptr_t>(api()), reinterpret_cast<std::uintptr_t>(table));
  return profiler != 0 && active(profiler);
}

}  // namespace

bool kineto_is_active() {
  constexpr std::uint32_t kCopies = 4;
  MappedLibrary found[kCopies];
  const std::uint32_t count = find_mapped_libraries("libtorch_cpu", found, kCopies);
  bool active = false;
  for (std::uint32_t i = 0; i < count && i < kCopies && !active; ++i) {
    const modules::PinnedModule library = pin_library(found[i].path);
    active = library && is_active(library);
  }
  return active;
}

}  // namespace gpuprof::cupti
