// SPDX-License-Identifier: Apache-2.0
//
// A store between two changes of protection.
//
// Context:  worker
#include "inject/got/slot_write.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace gpuprof::got {
namespace {

/// Takes the lines of /proc/self/maps apart as they come, whatever their length.
class MapsLine {
 public:
  /// True when the line's range and permissions are known: begin, end and protection are valid.
  bool take(char c) {
    if (c == '\n') {
      *this = MapsLine();
      return false;
    }
    if (field_ > 2) return false;
    if (field_ < 2) {
      if (c == '-' || c == ' ')
        ++field_;
      else
        (field_ == 0 ? begin : end) = (field_ == 0 ? begin : end) * 16 + digit(c);
      return false;
    }
    if (c == ' ') {
      ++field_;
      return true;
    }
    protection |= c == 'r' ? PROT_READ : c == 'w' ? PROT_WRITE : c == 'x' ? PROT_EXEC : 0;
    return false;
  }

  std::uintptr_t begin = 0, end = 0;
  int protection = 0;

 private:
  static std::uintptr_t digit(char c) {
    return static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  int field_ = 0;
};

}  // namespace

int protection_of(const void* address) {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  char text[4096];
  MapsLine line;
  int found = -1;
  for (ssize_t got = 1; found < 0 && (got = ::read(fd, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < got && found < 0; ++i)
      if (line.take(text[i]) && at >= line.begin && at < line.end) found = line.protection;
  ::close(fd);
  return found;
}

bool write_slot(std::uintptr_t* slot, std::uintptr_t value, bool read_only) {
  if (!read_only) {
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    return true;
  }
  // What the loader leaves such pages with, where nobody can tell what they have.
  const int known = protection_of(slot);
  const int before = known < 0 ? PROT_READ : known;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const at = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1));
  const bool change = (before & PROT_WRITE) == 0;
  if (change && mprotect(at, page, before | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (change) mprotect(at, page, before);
  return true;
}

}  // namespace gpuprof::got
