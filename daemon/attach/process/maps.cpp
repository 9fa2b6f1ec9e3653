// SPDX-License-Identifier: Apache-2.0
//
// The mappings of another process, from its /proc/PID/maps.
//
// Context:  daemon | cli
#include "daemon/attach/process/maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/io/files.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

/// Takes a number and the one character behind it off the front of `text`.
bool take(std::string_view& text, int base, char behind, std::uint64_t& value) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty() || text.front() != behind) return false;
  text.remove_prefix(1);
  return true;
}

// start-end rwxp offset major:minor inode   path
bool parse_line(std::string_view line, Mapping& mapping) {
  std::uint64_t major = 0, minor = 0;
  if (!take(line, 16, '-', mapping.start) || !take(line, 16, ' ', mapping.end)) return false;
  if (line.size() < 5 || line[4] != ' ') return false;
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.executable = line[2] == 'x';
  mapping.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take(line, 16, ' ', mapping.offset) || !take(line, 16, ':', major) ||
      !take(line, 16, ' ', minor))
    return false;
  const std::size_t digits = std::min(line.find(' '), line.size());
  std::from_chars(line.data(), line.data() + digits, mapping.inode);
  line.remove_prefix(digits);
  const std::size_t path = line.find_first_not_of(' ');
  if (path != std::string_view::npos) mapping.path = line.substr(path);
  return true;
}

}  // namespace

Maps parse_maps(std::string_view text) {
  Maps maps;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Mapping mapping;
    if (parse_line(text.substr(0, end), mapping)) maps.push_back(std::move(mapping));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return maps;
}

Maps read_maps(pid_t pid) {
  return parse_maps(support::read_small_file(fmt::format("/proc/{}/maps", pid)));
}

const Mapping* mapping_of(const Maps& maps, std::uint64_t address) {
  const auto behind =
      std::upper_bound(maps.begin(), maps.end(), address,
                       [](std::uint64_t value, const Mapping& one) { return value < one.end; });
  return behind != maps.end() && behind->holds(address) ? &*behind : nullptr;
}

std::string_view file_name(const Mapping& mapping) {
  std::string_view path = mapping.path;
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path.substr(path.rfind('/') + 1);
}

bool is_glibc(std::string_view name) {
  return name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"));
}

bool is_loader(std::string_view name) {
  return name.starts_with("ld-linux") || (name.starts_with("ld-2.") && name.ends_with(".so")) ||
         name.starts_with("ld64.so");
}

bool is_musl(std::string_view name) {
  return name.starts_with("ld-musl-") || name.starts_with("libc.musl-");
}

bool is_allocator(std::string_view name) {
  for (const std::string_view known : {"libjemalloc", "libtcmalloc", "libmimalloc"})
    if (name.starts_with(known)) return true;
  return false;
}

}  // namespace gpuprof::attach
