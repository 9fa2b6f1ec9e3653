// SPDX-License-Identifier: Apache-2.0
//
// The library as a file of ours: what of it a loader needs, its identity, where its entry is.
//
// Context:  daemon | cli
#include "daemon/attach/process/library_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/attach/arch/arch.hpp"
#include "daemon/attach/process/elf_image.hpp"
#include "daemon/messages/attach_checks.hpp"
#include "gpuprof/base/unique_fd.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::uint64_t kMaxBytes = 256 << 20;

std::vector<std::uint8_t> read_file(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!fd || fstat(fd.get(), &about) != 0) return {};
  std::vector<std::uint8_t> bytes(std::min(static_cast<std::uint64_t>(about.st_size), kMaxBytes));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) return {};
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

/// The file's PT_LOAD parts; nothing if it is no ELF file.
std::vector<Elf64_Phdr> parts_of(const std::vector<std::uint8_t>& file) {
  Elf64_Ehdr head;
  if (file.size() < sizeof head) return {};
  memcpy(&head, file.data(), sizeof head);
  if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(Elf64_Phdr) ||
      head.e_phoff > file.size() || head.e_phnum == 0 ||
      head.e_phnum > (file.size() - head.e_phoff) / sizeof(Elf64_Phdr))
    return {};
  std::vector<Elf64_Phdr> parts(head.e_phnum);
  memcpy(parts.data(), file.data() + head.e_phoff, parts.size() * sizeof(Elf64_Phdr));
  std::erase_if(parts, [&file](const Elf64_Phdr& part) {
    return part.p_type != PT_LOAD || part.p_offset > file.size() ||
           part.p_filesz > file.size() - part.p_offset;
  });
  return parts;
}

/// Addresses of the file, found in its parts.
MemoryReader reader_of(const std::vector<std::uint8_t>& file,
                       const std::vector<Elf64_Phdr>& parts) {
  return [&file, &parts](std::uint64_t address, void* to, std::size_t bytes) {
    for (const Elf64_Phdr& part : parts) {
      if (address < part.p_vaddr || address - part.p_vaddr > part.p_filesz ||
          bytes > part.p_filesz - (address - part.p_vaddr))
        continue;
      memcpy(to, file.data() + part.p_offset + (address - part.p_vaddr), bytes);
      return true;
    }
    return false;
  };
}

void cut_to_loaded(std::vector<std::uint8_t>& file, const std::vector<Elf64_Phdr>& parts) {
  std::uint64_t end = 0;
  for (const Elf64_Phdr& part : parts) end = std::max(end, part.p_offset + part.p_filesz);
  file.resize(end);
  Elf64_Ehdr head;
  memcpy(&head, file.data(), sizeof head);
  head.e_shoff = 0;
  head.e_shnum = head.e_shstrndx = 0;
  memcpy(file.data(), &head, sizeof head);
}

}  // namespace

support::Result<LibraryFile> read_library(const std::string& path) {
  LibraryFile library;
  library.bytes = read_file(path);
  if (library.bytes.empty())
    return support::error(
        fmt::format(messages::attach_checks::kCannotReadLibrary, path, strerror(errno)));
  const std::vector<Elf64_Phdr> parts = parts_of(library.bytes);
  const auto image = ElfImage::at(0, reader_of(library.bytes, parts));
  const auto entry = image ? image->symbol(kEntryName) : std::nullopt;
  if (!entry)
    return support::error(fmt::format(messages::attach_checks::kOtherLibrary, path, kEntryName));
  library.build_id = image->build_id();
  library.entry = *entry;
  cut_to_loaded(library.bytes, parts);
  return library;
}

bool has_library(pid_t pid) {
  const Maps maps = read_maps(pid);
  return std::any_of(maps.begin(), maps.end(), [](const Mapping& mapping) {
    return file_name(mapping).ends_with(kLibraryName);
  });
}

}  // namespace gpuprof::attach
