// SPDX-License-Identifier: Apache-2.0
//
// Opening of ELF objects by path, through /proc and by build id.
//
// Context:  daemon | cli
#include "analysis/symbols/elf_file.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

namespace gpuprof::symbols {
namespace {

std::string gnu_build_id(Elf_Data* data) {
  GElf_Nhdr note;
  std::size_t name = 0, description = 0;
  for (std::size_t at = 0;
       data != nullptr && (at = gelf_getnote(data, at, &note, &name, &description)) > 0;) {
    const auto* bytes = static_cast<const char*>(data->d_buf);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + name, "GNU", 4) == 0)
      return std::string(bytes + description, note.n_descsz);
  }
  return {};
}

std::string hex(std::uint64_t value) {
  std::array<char, 20> text;
  snprintf(text.data(), text.size(), "%lx", value);
  return text.data();
}

/// What the process has mapped at an address: /proc/PID/map_files/FROM-TO. Empty without privilege.
std::string map_file_at(const std::string& proc, std::uint64_t start) {
  const std::string prefix = hex(start) + "-";
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(proc + "/map_files", ignored), end; at != end;
       at.increment(ignored)) {
    if (ignored) break;
    if (at->path().filename().string().starts_with(prefix)) return at->path();
  }
  return {};
}

bool matches(const ElfFile& file, const MappedModule& module) {
  return module.build_id.empty() || file.build_id() == module.build_id;
}

}  // namespace

ElfFile::ElfFile(ElfFile&& other) noexcept
    : fd_(std::move(other.fd_)),
      elf_(std::exchange(other.elf_, nullptr)),
      path_(std::move(other.path_)) {}

ElfFile& ElfFile::operator=(ElfFile&& other) noexcept {
  if (this == &other) return *this;
  if (elf_ != nullptr) elf_end(elf_);
  fd_ = std::move(other.fd_);
  elf_ = std::exchange(other.elf_, nullptr);
  path_ = std::move(other.path_);
  return *this;
}

ElfFile::~ElfFile() {
  if (elf_ != nullptr) elf_end(elf_);
}

ElfFile ElfFile::open(const std::string& path) {
  elf_version(EV_CURRENT);
  ElfFile file;
  // A path of the target's may name anything: never wait for a FIFO to be written to.
  file.fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_) return {};
  file.elf_ = elf_begin(file.fd_.get(), ELF_C_READ_MMAP, nullptr);
  if (file.elf_ == nullptr || elf_kind(file.elf_) != ELF_K_ELF ||
      gelf_getclass(file.elf_) != ELFCLASS64)
    return {};
  file.path_ = path;
  return file;
}

ElfFile ElfFile::own_vdso() {
  elf_version(EV_CURRENT);
  const unsigned long at = getauxval(AT_SYSINFO_EHDR);
  if (at == 0) return {};
  // The image is two pages at most on x86-64; its section headers lie behind its contents.
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(at);
  const std::size_t bytes = header->e_shoff + std::size_t{header->e_shentsize} * header->e_shnum;
  ElfFile file;
  file.elf_ = elf_memory(reinterpret_cast<char*>(at), bytes);
  file.path_ = "[vdso]";
  return file;
}

std::string ElfFile::build_id() const {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    std::string id = gnu_build_id(elf_getdata(section, nullptr));
    if (!id.empty()) return id;
  }
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr || header.p_type != PT_NOTE)
      continue;
    std::string id = gnu_build_id(elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset),
                                                       header.p_filesz, ELF_T_NHDR));
    if (!id.empty()) return id;
  }
  return {};
}

ElfFile open_module(const MappedModule& module, std::uint32_t pid) {
  if (module.name == "[vdso]") return ElfFile::own_vdso();
  const std::string proc = "/proc/" + std::to_string(pid);
  // The path first: it outlives the process. Then what only the living process shows.
  const std::string candidates[] = {
      module.path,
      pid != 0 ? proc + "/root" + module.path : "",
      pid != 0 ? map_file_at(proc, module.start) : "",
  };
  for (const std::string& path : candidates) {
    if (path.empty() || path[0] != '/') continue;
    ElfFile file = ElfFile::open(path);
    if (file && matches(file, module)) return file;
  }
  return {};
}

ElfFile open_debug_file(const std::string& build_id, const std::string& root) {
  if (build_id.size() < 2) return {};
  std::string digits;
  for (const char byte : build_id) {
    std::array<char, 4> two;
    snprintf(two.data(), two.size(), "%02x", static_cast<unsigned char>(byte));
    digits += two.data();
  }
  ElfFile file =
      ElfFile::open(root + "/.build-id/" + digits.substr(0, 2) + "/" + digits.substr(2) + ".debug");
  return file && file.build_id() == build_id ? std::move(file) : ElfFile{};
}

}  // namespace gpuprof::symbols
