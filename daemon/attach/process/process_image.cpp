// SPDX-License-Identifier: Apache-2.0
//
// Collects what injection needs to know of a process before one of its threads is stopped.
//
// Context:  daemon | cli
#include "daemon/attach/process/process_image.hpp"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "daemon/attach/process/checks.hpp"
#include "daemon/attach/process/elf_image.hpp"
#include "daemon/messages/attach_checks.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::attach {
namespace {

std::optional<ElfImage> image_at(const ProcessImage& target, const Mapping& mapping) {
  return ElfImage::at(mapping.start,
                      [memory = target.memory](std::uint64_t address, void* to, std::size_t bytes) {
                        return memory->read(address, to, bytes);
                      });
}

const Mapping* first_of(const Maps& maps, const std::function<bool(std::string_view)>& wanted) {
  for (const Mapping& mapping : maps)
    if (mapping.offset == 0 && mapping.readable && wanted(file_name(mapping))) return &mapping;
  return nullptr;
}

void find_gadgets(ProcessImage& target, const Mapping& libc) {
  for (const Mapping& mapping : target.maps) {
    // aarch64 returns from signal handlers through the vdso.
    const bool wanted =
        mapping.path == "[vdso]" || (mapping.inode == libc.inode && mapping.path == libc.path);
    if (!mapping.executable || !wanted) continue;
    const auto code = target.memory->read_some(mapping.start, mapping.end - mapping.start);
    arch::find_gadgets(code, mapping.start, target.gadgets);
  }
}

support::Result<void> find_functions(ProcessImage& target) {
  const Mapping* libc = first_of(target.maps, is_glibc);
  if (libc == nullptr) return support::error(refusal_by_image(target.pid, target.maps, 0));
  find_gadgets(target, *libc);
  std::vector<ElfImage> images;
  if (auto image = image_at(target, *libc)) images.push_back(*std::move(image));
  // Before glibc 2.34 it is a library of its own, which not every program has.
  const Mapping* libdl =
      first_of(target.maps, [](std::string_view name) { return name.starts_with("libdl"); });
  if (libdl != nullptr)
    if (auto image = image_at(target, *libdl)) images.push_back(*std::move(image));
  const auto find = [&images](const char* name) -> std::uint64_t {
    for (const ElfImage& image : images)
      if (const auto found = image.symbol(name)) return *found;
    return 0;
  };
  target.open_library = find("dlopen");
  target.last_error = find("dlerror");
  target.error_number = find("__errno_location");
  if (target.open_library == 0 || target.last_error == 0 || target.error_number == 0)
    return support::error(fmt::format(messages::attach_checks::kNoDlopen, target.pid, libc->path));
  if (target.gadgets.call == 0 || target.gadgets.restore == 0)
    return support::error(
        fmt::format(messages::attach_checks::kNoReturnCode, target.pid, libc->path));
  return {};
}

support::Result<void> find_our_library(ProcessImage& target, const LibraryFile& library) {
  const Mapping* ours =
      first_of(target.maps, [](std::string_view name) { return name.ends_with(kLibraryName); });
  if (ours == nullptr) return {};
  const auto image = image_at(target, *ours);
  const auto entry = image ? image->symbol(kEntryName) : std::nullopt;
  if (!entry || image->build_id() != library.build_id)
    return support::error(
        fmt::format(messages::attach_checks::kOtherBuild, target.pid, ours->path));
  target.loaded_entry = *entry;
  return {};
}

}  // namespace

support::Result<ProcessImage> read_process_image(pid_t pid, const LibraryFile& library) {
  ProcessImage target;
  target.pid = pid;
  target.memory = std::make_shared<ProcessMemory>(pid);
  if (!*target.memory) return support::error(denial_message(pid, inspect_denial(pid, errno)));
  target.program = support::exec_fingerprint(pid);
  target.maps = read_maps(pid);
  GPUPROF_CHECK(find_functions(target));
  GPUPROF_CHECK(find_our_library(target, library));
  return target;
}

}  // namespace gpuprof::attach
