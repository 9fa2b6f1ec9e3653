// SPDX-License-Identifier: Apache-2.0
//
// Reads fat binaries and cubins.
//
// Context:  application threads
// Owns:     nothing
// Promises: see fatbin.hpp
// Not here: what the figures are used for
#include "core/work/fatbin.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#ifdef GPUSIM_HAVE_ZSTD
#include <zstd.h>
#endif

namespace gpusim {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;
constexpr std::uint16_t kElfEntry = 2;
constexpr std::uint64_t kZstdFlag = 0x8000;
constexpr std::uint64_t kLz4Flag = 0x2000;
constexpr std::size_t kLargestImage = 1u << 30;
constexpr std::uint32_t kReservedSmem = 1024;  ///< part of the section's size from sm_90 on

template <typename T>
T get(const unsigned char* p, std::size_t offset) {
  T value;
  std::memcpy(&value, p + offset, sizeof value);
  return value;
}

/// One entry of a fat binary.
struct Entry {
  const unsigned char* data;
  std::size_t stored_bytes, plain_bytes;
  int architecture;
  std::uint64_t flags;
};

std::vector<Entry> entries_of(const unsigned char* fat) {
  std::vector<Entry> found;
  std::size_t at = get<std::uint16_t>(fat, 6);
  const std::size_t end = at + get<std::uint64_t>(fat, 8);
  while (at + 64 <= end) {
    const unsigned char* e = fat + at;
    const std::size_t header = get<std::uint32_t>(e, 4);
    const std::size_t padded = get<std::uint64_t>(e, 8);
    if (header < 64 || padded > end - at || header + padded > end - at) break;
    const std::uint64_t flags = get<std::uint64_t>(e, 40);
    const std::size_t packed = get<std::uint32_t>(e, 16);
    const bool is_packed = (flags & (kZstdFlag | kLz4Flag)) != 0;
    if (get<std::uint16_t>(e, 0) == kElfEntry)
      found.push_back({e + header, is_packed ? std::min(packed, padded) : padded,
                       get<std::uint64_t>(e, 56), static_cast<int>(get<std::uint32_t>(e, 28)),
                       flags});
    at += header + padded;
  }
  return found;
}

/// The sections of one cubin.
class Cubin {
 public:
  Cubin(const unsigned char* data, std::size_t bytes) : data_(data), bytes_(bytes) {
    if (bytes < sizeof(Elf64_Ehdr) || std::memcmp(data, ELFMAG, SELFMAG) != 0) return;
    const auto head = get<Elf64_Ehdr>(data, 0);
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > bytes ||
        head.e_shnum > (bytes - head.e_shoff) / sizeof(Elf64_Shdr))
      return;
    sections_.resize(head.e_shnum);
    if (head.e_shnum == 0) return;
    std::memcpy(sections_.data(), data + head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
    if (head.e_shstrndx < sections_.size()) names_ = &sections_[head.e_shstrndx];
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }

  std::string name(const Elf64_Shdr& s) const {
    return names_ != nullptr ? text(*names_, s.sh_name) : std::string();
  }

  /// Bytes of a section, null if they lie outside.
  const unsigned char* bytes_of(const Elf64_Shdr& s) const {
    return s.sh_offset <= bytes_ && s.sh_size <= bytes_ - s.sh_offset ? data_ + s.sh_offset
                                                                      : nullptr;
  }

  std::string text(const Elf64_Shdr& strings, std::size_t at) const {
    const unsigned char* p = bytes_of(strings);
    if (p == nullptr || at >= strings.sh_size) return {};
    const auto* from = reinterpret_cast<const char*>(p + at);
    return {from, strnlen(from, strings.sh_size - at)};
  }

  /// Name of symbol number `index`.
  std::string symbol(std::size_t index) const {
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections_.size()) continue;
      const unsigned char* p = bytes_of(s);
      if (p == nullptr || index >= s.sh_size / sizeof(Elf64_Sym)) return {};
      return text(sections_[s.sh_link], get<Elf64_Sym>(p, index * sizeof(Elf64_Sym)).st_name);
    }
    return {};
  }

 private:
  const unsigned char* data_;
  std::size_t bytes_;
  std::vector<Elf64_Shdr> sections_;
  const Elf64_Shdr* names_ = nullptr;
};

constexpr unsigned char kMaxThreads = 0x05, kFrameSize = 0x11, kRegisterCount = 0x2f;
constexpr unsigned char kSizedFormat = 4;

/// Calls `visit(attribute, data, bytes)` for each sized attribute of a .nv.info section.
template <typename Visit>
void each_attribute(const unsigned char* p, std::size_t bytes, Visit visit) {
  for (std::size_t at = 0; at + 4 <= bytes;) {
    const std::size_t size = p[at] == kSizedFormat ? get<std::uint16_t>(p, at + 2) : 0;
    if (at + 4 + size > bytes) return;
    if (size > 0) visit(p[at + 1], p + at + 4, size);
    at += 4 + size;
  }
}

void read_common_info(const Cubin& cubin, const Elf64_Shdr& s, FigureTable& table) {
  const unsigned char* p = cubin.bytes_of(s);
  if (p == nullptr) return;
  each_attribute(p, s.sh_size, [&](unsigned char attribute, const unsigned char* d, std::size_t n) {
    if (n < 8 || (attribute != kRegisterCount && attribute != kFrameSize)) return;
    const std::string name = cubin.symbol(get<std::uint32_t>(d, 0));
    if (name.empty()) return;
    KernelFigures& f = table[name];
    const std::uint32_t value = get<std::uint32_t>(d, 4);
    if (attribute == kRegisterCount)
      f.registers = static_cast<std::uint16_t>(value);
    else
      f.local_bytes = value;
  });
}

void read_kernel_info(const Cubin& cubin, const Elf64_Shdr& s, KernelFigures& f) {
  const unsigned char* p = cubin.bytes_of(s);
  if (p == nullptr) return;
  each_attribute(p, s.sh_size, [&](unsigned char attribute, const unsigned char* d, std::size_t n) {
    if (attribute == kMaxThreads && n >= 12)
      f.max_threads =
          get<std::uint32_t>(d, 0) * get<std::uint32_t>(d, 4) * get<std::uint32_t>(d, 8);
  });
}

bool cut(const std::string& name, const char* prefix, std::string* rest) {
  const std::size_t n = std::strlen(prefix);
  if (name.compare(0, n, prefix) != 0) return false;
  *rest = name.substr(n);
  return true;
}

void read_cubin(const unsigned char* data, std::size_t bytes, int architecture,
                FigureTable& table) {
  const Cubin cubin(data, bytes);
  FigureTable found;
  for (const Elf64_Shdr& s : cubin.sections())
    if (cubin.name(s) == ".nv.info") read_common_info(cubin, s, found);
  std::string kernel;
  for (const Elf64_Shdr& s : cubin.sections()) {
    const std::string name = cubin.name(s);
    if (cut(name, ".nv.shared.", &kernel) && found.count(kernel) != 0) {
      const std::uint32_t reserved = architecture >= 90 ? kReservedSmem : 0;
      const auto size = static_cast<std::uint32_t>(s.sh_size);
      found[kernel].static_smem = size > reserved ? size - reserved : 0;
    } else if (cut(name, ".nv.info.", &kernel) && found.count(kernel) != 0) {
      read_kernel_info(cubin, s, found[kernel]);
    }
  }
  for (auto& [name, figures] : found) {
    figures.architecture = architecture;
    table[name] = figures;
  }
}

void read_entry(const Entry& e, FigureTable& table) {
  if ((e.flags & (kZstdFlag | kLz4Flag)) == 0)
    return read_cubin(e.data, e.stored_bytes, e.architecture, table);
#ifdef GPUSIM_HAVE_ZSTD
  if ((e.flags & kZstdFlag) == 0 || e.plain_bytes == 0 || e.plain_bytes > kLargestImage) return;
  std::vector<unsigned char> plain(e.plain_bytes);
  const std::size_t n = ZSTD_decompress(plain.data(), plain.size(), e.data, e.stored_bytes);
  if (ZSTD_isError(n) == 0) read_cubin(plain.data(), n, e.architecture, table);
#endif
}

/// How far a cubin reaches whose length nobody gave: to the end of its tables and sections.
std::size_t cubin_bytes(const unsigned char* p) {
  const auto head = get<Elf64_Ehdr>(p, 0);
  std::size_t end = head.e_shoff + std::size_t{head.e_shnum} * sizeof(Elf64_Shdr);
  for (std::size_t i = 0; i < head.e_shnum && head.e_shentsize == sizeof(Elf64_Shdr); ++i) {
    const auto s = get<Elf64_Shdr>(p, head.e_shoff + i * sizeof(Elf64_Shdr));
    if (s.sh_type != SHT_NOBITS) end = std::max<std::size_t>(end, s.sh_offset + s.sh_size);
  }
  return end;
}

/// 90 for sm_90. The compilers of CUDA 13 keep it one byte further up than older ones did.
int cubin_architecture(const Elf64_Ehdr& head) {
  constexpr unsigned char kNewerAbi = 8;
  const unsigned shift = head.e_ident[EI_ABIVERSION] >= kNewerAbi ? 8 : 0;
  return static_cast<int>(head.e_flags >> shift & 0xff);
}

}  // namespace

FigureTable read_figures(const void* image, int architecture) {
  FigureTable table;
  const auto* p = static_cast<const unsigned char*>(image);
  if (p != nullptr && get<std::uint32_t>(p, 0) == kWrapperMagic)
    p = get<const unsigned char*>(p, 8);
  if (p == nullptr) return table;
  if (std::memcmp(p, ELFMAG, SELFMAG) == 0) {
    read_cubin(p, cubin_bytes(p), cubin_architecture(get<Elf64_Ehdr>(p, 0)), table);
    return table;
  }
  if (get<std::uint32_t>(p, 0) != kFatBinaryMagic) return table;
  const std::vector<Entry> entries = entries_of(p);
  int best = 0;
  for (const Entry& e : entries)
    if (e.architecture <= architecture) best = std::max(best, e.architecture);
  for (const Entry& e : entries)
    if (e.architecture == best) read_entry(e, table);
  return table;
}

bool reads_compressed_images() {
#ifdef GPUSIM_HAVE_ZSTD
  return true;
#else
  return false;
#endif
}

}  // namespace gpusim
