// SPDX-License-Identifier: Apache-2.0
//
// How far GNU's loader has come in a process: what a program lacks while it works is on its way.
//
// Context:  daemon | cli
#include "daemon/attach/process/loader.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/attach/process/process_memory.hpp"
#include "daemon/messages/attach_checks.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::attach {
namespace {

constexpr int kMaxParts = 64;
// What debuggers read of a loader.
constexpr const char* kStateName = "_r_debug";

template <typename T>
bool read_at(int fd, std::uint64_t offset, T& value) {
  return pread(fd, &value, sizeof value, static_cast<off_t>(offset)) == sizeof value;
}

std::string text_at(int fd, std::uint64_t offset, std::uint64_t bytes) {
  std::string text(std::min<std::uint64_t>(bytes, PATH_MAX), '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.substr(0, text.find('\0'));
}

std::string loader_in(int fd) {
  Elf64_Ehdr head;
  if (!read_at(fd, 0, head) || head.e_phentsize != sizeof(Elf64_Phdr)) return "";
  for (int i = 0; i < std::min<int>(head.e_phnum, kMaxParts); ++i) {
    Elf64_Phdr part;
    if (!read_at(fd, head.e_phoff + static_cast<std::uint64_t>(i) * sizeof part, part)) return "";
    if (part.p_type != PT_INTERP) continue;
    const std::string path = text_at(fd, part.p_offset, part.p_filesz);
    return path.substr(path.rfind('/') + 1);
  }
  return "";
}

MemoryReader reader_of(const ProcessMemory& memory) {
  return [&memory](std::uint64_t address, void* to, std::size_t bytes) {
    return memory.read(address, to, bytes);
  };
}

}  // namespace

ProgramFile program_file(pid_t pid) {
  ProgramFile program;
  const base::UniqueFd fd(open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char ident[EI_NIDENT] = {};
  if (!fd || !read_at(fd.get(), 0, ident) || memcmp(ident, ELFMAG, SELFMAG) != 0) return program;
  program.elf_class = ident[EI_CLASS];
  if (program.elf_class == ELFCLASS64) program.loader = loader_in(fd.get());
  return program;
}

bool is_loader_busy(const Maps& maps, const ProgramFile& program, const MemoryReader& reader) {
  if (program.elf_class == ELFCLASS32) return false;
  const auto loader = std::find_if(maps.begin(), maps.end(), [](const Mapping& mapping) {
    return mapping.offset == 0 && mapping.readable && is_loader(file_name(mapping));
  });
  if (loader == maps.end()) return is_loader(program.loader);
  const auto image = ElfImage::at(loader->start, reader);
  const auto address = image ? image->symbol(kStateName) : std::nullopt;
  r_debug state{};
  // Without a list of what is loaded it has not begun.
  return !address || !reader(*address, &state, sizeof state) || state.r_map == nullptr ||
         state.r_state != r_debug::RT_CONSISTENT;
}

bool is_loader_busy(pid_t pid) {
  const ProcessMemory memory(pid);
  return memory && is_loader_busy(read_maps(pid), program_file(pid), reader_of(memory));
}

support::Error loader_busy_error(pid_t pid) {
  const Maps maps = read_maps(pid);
  const bool has_libc = std::any_of(maps.begin(), maps.end(), [](const Mapping& mapping) {
    return is_glibc(file_name(mapping));
  });
  return support::error(has_libc ? fmt::format(messages::attach_checks::kLoadsLibraries, pid)
                                 : fmt::format(messages::attach_checks::kIsStarting, pid));
}

}  // namespace gpuprof::attach
