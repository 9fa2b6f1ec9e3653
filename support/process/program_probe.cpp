// SPDX-License-Identifier: Apache-2.0
//
// Whether a preloaded library can work in a program, seen from the program's file.
//
// Context:  daemon | cli
#include "support/process/program_probe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "gpuprof/base/unique_fd.hpp"
#include "support/io/files.hpp"
#include "support/messages/process.hpp"
#include "support/process/find_program.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

constexpr int kMaxInterpreters = 5;
constexpr std::string_view kSanitizerLibraries[] = {
    "libasan.so",   "libtsan.so",       "libmsan.so",       "liblsan.so",
    "libhwasan.so", "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan"};
constexpr std::string_view kSanitizerSymbols[] = {"__asan_init", "__tsan_init", "__msan_init",
                                                  "__hwasan_init"};

/// An open ELF file; `elf` is null if it is none.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    if (fd_) elf_ = elf_begin(fd_.get(), ELF_C_READ, nullptr);
    if (elf_ != nullptr && elf_kind(elf_) != ELF_K_ELF) {
      elf_end(elf_);
      elf_ = nullptr;
    }
  }
  ~ElfFile() {
    if (elf_ != nullptr) elf_end(elf_);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  Elf* get() const { return elf_; }

 private:
  base::UniqueFd fd_;
  Elf* elf_ = nullptr;
};

/// The PT_INTERP string.
std::string loader_of(Elf* elf) {
  std::size_t count = 0;
  std::string loader;
  if (elf_getphdrnum(elf, &count) != 0) return "";
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_INTERP || header.p_filesz == 0 || header.p_filesz > 4096) continue;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(header.p_offset),
                                          header.p_filesz, ELF_T_BYTE);
    if (data == nullptr) continue;
    const char* text = static_cast<const char*>(data->d_buf);
    loader.assign(text, strnlen(text, data->d_size));
  }
  return loader;
}

std::size_t entries(const GElf_Shdr& header) {
  return header.sh_entsize == 0 ? 0 : header.sh_size / header.sh_entsize;
}

template <typename Visit>
void each_section(Elf* elf, GElf_Word type, Visit visit) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != type) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data != nullptr) visit(header, data);
  }
}

std::vector<std::string> needed(Elf* elf) {
  std::vector<std::string> names;
  each_section(elf, SHT_DYNAMIC, [&](const GElf_Shdr& header, Elf_Data* data) {
    const std::size_t count = entries(header);
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) continue;
      if (entry.d_tag != DT_NEEDED) continue;
      const char* name = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      if (name != nullptr) names.emplace_back(name);
    }
  });
  return names;
}

std::string sanitizer_symbol(Elf* elf, GElf_Word table) {
  std::string found;
  each_section(elf, table, [&](const GElf_Shdr& header, Elf_Data* data) {
    const std::size_t count = entries(header);
    for (std::size_t i = 0; i < count && found.empty(); ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name == nullptr) continue;
      if (std::find(std::begin(kSanitizerSymbols), std::end(kSanitizerSymbols), name) !=
          std::end(kSanitizerSymbols)) {
        found = name;
      }
    }
  });
  return found;
}

std::string sanitizer_of(Elf* elf) {
  for (const std::string& name : needed(elf)) {
    for (const std::string_view library : kSanitizerLibraries) {
      if (name.compare(0, library.size(), library) == 0) return name;
    }
  }
  // A runtime linked in statically need not be among the dynamic symbols.
  const std::string exported = sanitizer_symbol(elf, SHT_DYNSYM);
  return exported.empty() ? sanitizer_symbol(elf, SHT_SYMTAB) : exported;
}

/// What makes the kernel start it in secure mode, for the user who asks; "" if nothing.
std::string secure_execution_reason(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return "";
  struct statvfs mount {};
  const bool no_suid = statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0;
  if (no_suid || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return "";
  if ((about.st_mode & S_ISUID) != 0 && about.st_uid != getuid()) {
    return fmt::format("set-user-id {}", about.st_uid == 0 ? "root" : std::to_string(about.st_uid));
  }
  constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;
  if ((about.st_mode & kSetGroup) == kSetGroup && about.st_gid != getgid()) return "set-group-id";
  char value[64];
  if (getuid() != 0 && getxattr(path.c_str(), "security.capability", value, sizeof value) > 0) {
    return "file capabilities";
  }
  return "";
}

ProgramInfo probe_elf(const std::string& path, Elf* elf) {
  ProgramInfo facts;
  facts.path = path;
  GElf_Ehdr header;
  if (gelf_getehdr(elf, &header) == nullptr) return facts;
  facts.interpreter = loader_of(elf);
  facts.kind = ProgramKind::kDynamic;
  facts.detail = secure_execution_reason(path);
  if (header.e_machine == EM_386) {
    facts.kind = ProgramKind::k32Bit;
  } else if (header.e_machine != EM_X86_64 || header.e_ident[EI_CLASS] == ELFCLASS32) {
    facts.kind = ProgramKind::kForeignArchitecture;
  } else if (facts.interpreter.empty()) {
    // A static-pie has PT_DYNAMIC but no loader either.
    facts.kind = ProgramKind::kStatic;
  } else if (!facts.detail.empty()) {
    facts.kind = ProgramKind::kSecureExecution;
  } else if (facts.interpreter.find("ld-linux-x86-64") == std::string::npos) {
    facts.kind = ProgramKind::kForeignLibc;
    facts.detail = facts.interpreter;
  } else if (facts.detail = sanitizer_of(elf); !facts.detail.empty()) {
    facts.kind = ProgramKind::kSanitizer;
  }
  return facts;
}

/// The words of a `#!` line, at most two as the kernel splits them; empty if it has none.
std::vector<std::string> read_shebang(const std::string& path) {
  const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char start[256];
  const ssize_t n = fd ? ::read(fd.get(), start, sizeof start) : 0;
  std::string_view line(start, n > 0 ? static_cast<std::size_t>(n) : 0);
  if (line.substr(0, 2) != "#!") return {};
  line = line.substr(2, line.substr(0, line.find('\n')).size() - 2);
  std::vector<std::string> words;
  for (const std::string& word : split(line, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

/// `env [-S] [NAME=value] program`: the program's file, or env's own.
std::string resolve_env_command(const std::vector<std::string>& words,
                                const std::string& path_variable) {
  if (base_name(words[0]) != "env") return words[0];
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i][0] == '-' || words[i].find('=') != std::string::npos) continue;
    const auto found = find_program(words[i], path_variable);
    return found ? found.value() : words[0];
  }
  return words[0];
}

}  // namespace

ProgramInfo probe_program(const std::string& path, const std::string& path_variable) {
  std::string file = path;
  bool script = false;
  for (int i = 0; i < kMaxInterpreters; ++i) {
    const ElfFile elf(file);
    if (elf.get() != nullptr) {
      ProgramInfo facts = probe_elf(file, elf.get());
      facts.script = script;
      return facts;
    }
    const std::vector<std::string> words = read_shebang(file);
    if (words.empty()) break;
    script = true;
    file = resolve_env_command(words, path_variable);
  }
  ProgramInfo facts;
  facts.path = file;
  facts.script = script;
  return facts;
}

std::string preload_obstacle(const ProgramInfo& facts) {
  switch (facts.kind) {
    case ProgramKind::kStatic:
      return messages::process::kStaticallyLinked;
    case ProgramKind::k32Bit:
      return messages::process::k32Bit;
    case ProgramKind::kForeignArchitecture:
      return messages::process::kOtherArchitecture;
    case ProgramKind::kSanitizer:
      return fmt::format(messages::process::kSanitizer, facts.detail);
    case ProgramKind::kSecureExecution:
      return fmt::format(messages::process::kSecureExecution, facts.detail);
    case ProgramKind::kForeignLibc:
      return fmt::format(messages::process::kOtherLibc, facts.detail);
    case ProgramKind::kDynamic:
    case ProgramKind::kUnknown:
      break;
  }
  return "";
}

std::vector<std::string> needed_libraries(const std::string& path) {
  const ElfFile elf(path);
  return elf.get() == nullptr ? std::vector<std::string>{} : needed(elf.get());
}

std::string required_glibc_version(const std::string& path) {
  const ElfFile elf(path);
  std::pair<int, int> highest{0, 0};
  if (elf.get() == nullptr) return "";
  each_section(elf.get(), SHT_GNU_verneed, [&](const GElf_Shdr& header, Elf_Data* data) {
    GElf_Verneed need;
    for (int at = 0; gelf_getverneed(data, at, &need) != nullptr;) {
      GElf_Vernaux version;
      for (int aux = at + static_cast<int>(need.vn_aux);
           gelf_getvernaux(data, aux, &version) != nullptr;) {
        const char* name = elf_strptr(elf.get(), header.sh_link, version.vna_name);
        std::pair<int, int> found{0, 0};
        if (name != nullptr && sscanf(name, "GLIBC_%d.%d", &found.first, &found.second) == 2) {
          highest = std::max(highest, found);
        }
        if (version.vna_next == 0) break;
        aux += static_cast<int>(version.vna_next);
      }
      if (need.vn_next == 0) break;
      at += static_cast<int>(need.vn_next);
    }
  });
  return highest.first == 0 ? "" : fmt::format("{}.{}", highest.first, highest.second);
}

}  // namespace gpuprof::support
