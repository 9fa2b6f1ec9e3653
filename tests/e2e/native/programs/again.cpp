// SPDX-License-Identifier: Apache-2.0
//
// A program that maps its own code once more and runs it there, as V8 does with its built-in
// functions.
//
// usage: again CPU_SECONDS
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdint>

namespace {

volatile long g_sum = 0;

// Reaches nothing by its own address.
__attribute__((noinline)) long hot_again(long rounds) {
  long sum = rounds;
  for (long i = 0; i < rounds; ++i) {
    sum = sum * 31 + i;
    asm volatile("" : "+r"(sum));
  }
  return sum;
}

struct Segment {
  const void* address;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  off_t offset = 0;
};

int find_segment(dl_phdr_info* info, std::size_t, void* data) {
  auto& segment = *static_cast<Segment*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 ||
        reinterpret_cast<std::uintptr_t>(segment.address) - begin >= part.p_memsz)
      continue;
    segment.begin = begin & ~std::uintptr_t{4095};
    segment.bytes = part.p_memsz + (begin & 4095);
    segment.offset = static_cast<off_t>(part.p_offset & ~std::uint64_t{4095});
    return 1;
  }
  return 0;
}

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  Segment segment{reinterpret_cast<const void*>(hot_again)};
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0 || dl_iterate_phdr(find_segment, &segment) == 0) return 1;
  void* copy =
      mmap(nullptr, segment.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, segment.offset);
  if (copy == MAP_FAILED) return 1;
  const auto there = reinterpret_cast<long (*)(long)>(
      reinterpret_cast<std::uintptr_t>(copy) +
      (reinterpret_cast<std::uintptr_t>(segment.address) - segment.begin));
  for (const double end = cpu_seconds() + atof(words[1]); cpu_seconds() < end;)
    g_sum = g_sum + there(1'000'000);
  return 7;
}
