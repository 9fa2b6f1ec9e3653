// SPDX-License-Identifier: Apache-2.0
//
// Reads perf's map files as they grow.
//
// Context:  daemon (any export thread)
#include "analysis/symbols/perf_map.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "support/text/utf8.hpp"

namespace gpuprof::symbols {
namespace {

constexpr off_t kMaxBytes = off_t{256} << 20;
constexpr std::size_t kMaxLine = 64u << 10;
constexpr std::chrono::milliseconds kPause(200);

bool take_hex(std::string_view* from, std::uint64_t* value) {
  if (from->starts_with("0x")) from->remove_prefix(2);
  const auto [end, error] = std::from_chars(from->data(), from->data() + from->size(), *value, 16);
  if (error != std::errc() || end == from->data() + from->size() || *end != ' ') return false;
  from->remove_prefix(static_cast<std::size_t>(end - from->data()) + 1);
  return true;
}

std::string cut(std::string_view name) {
  std::string text = support::to_utf8(name.substr(0, PerfMapEntries::kMaxName));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// Links are followed as the process would; where the kernel cannot do that they are not.
int open_below(int root, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  return ::openat(root, path.c_str(), static_cast<int>(how.flags));
}

}  // namespace

void PerfMapEntries::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (!skipping_ && rest_.size() + part.size() <= kMaxLine)
      rest_ += part;
    else
      skipping_ = true;
    if (end == std::string_view::npos) return;
    if (!skipping_) take_line(rest_);
    skipping_ = false;
    rest_.clear();
    text.remove_prefix(end + 1);
  }
}

void PerfMapEntries::take_line(std::string_view line) {
  std::uint64_t begin = 0, bytes = 0;
  if (!take_hex(&line, &begin) || !take_hex(&line, &bytes)) return;
  if (bytes == 0 || begin + bytes < begin || line.empty()) return;
  insert(begin, Entry{begin + bytes, cut(line)});
}

void PerfMapEntries::insert(std::uint64_t begin, Entry entry) {
  auto at = entries_.upper_bound(begin);
  if (at != entries_.begin()) {
    const auto before = std::prev(at);
    if (before->second.end > begin) {
      // What the new one does not cover stays what it was, on both sides.
      const Entry old = before->second;
      before->second.end = begin;
      if (old.end > entry.end) entries_.emplace(entry.end, old);
      if (before->first == begin) entries_.erase(before);
    }
  }
  for (at = entries_.lower_bound(begin); at != entries_.end() && at->first < entry.end;) {
    if (at->second.end > entry.end) entries_.emplace(entry.end, at->second);
    at = entries_.erase(at);
  }
  if (entries_.size() < kMaxEntries) entries_.emplace(begin, std::move(entry));
}

void PerfMapEntries::clear() {
  entries_.clear();
  rest_.clear();
  skipping_ = false;
}

const std::string& PerfMapEntries::name_at(std::uint64_t address) const {
  static const std::string kNone;
  const auto after = entries_.upper_bound(address);
  if (after == entries_.begin()) return kNone;
  const Entry& entry = std::prev(after)->second;
  return address < entry.end ? entry.name : kNone;
}

bool PerfMap::open() {
  if (file_) return true;
  base::UniqueFd file(open_below(origin_.root.get(), origin_.path));
  struct stat about;
  if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return false;
  // The folder is everybody's: another user may have put a file there, and a process of the same
  // number may have left one.
  const bool own =
      std::find(origin_.owners.begin(), origin_.owners.end(), about.st_uid) != origin_.owners.end();
  if (!own || about.st_mtim.tv_sec < origin_.from_s) return false;
  file_ = std::move(file);
  return true;
}

void PerfMap::read_new() {
  looked_ = std::chrono::steady_clock::now();
  struct stat about;
  if (!open() || fstat(file_.get(), &about) != 0) return;
  if (about.st_size < read_) {  // written anew
    text_.clear();
    read_ = 0;
  }
  std::string part(std::size_t{1} << 20, '\0');
  while (read_ < kMaxBytes) {
    const ssize_t got = ::pread(file_.get(), part.data(), part.size(), read_);
    if (got <= 0) return;
    text_.append(std::string_view(part).substr(0, static_cast<std::size_t>(got)));
    read_ += got;
  }
}

std::string PerfMap::name_at(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const std::string& known = text_.name_at(address);
  if (!known.empty() || std::chrono::steady_clock::now() - looked_ < kPause) return known;
  read_new();
  return text_.name_at(address);
}

}  // namespace gpuprof::symbols
