// SPDX-License-Identifier: Apache-2.0
//
// Takes what a resource limit leaves, and says how much that was: the answer must be the same with
// a profiler.
//
// usage: torture_limits files|locked|file-size|address-space|threads N|resident MIB
//
// Context:  tests
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kMiB = 1u << 20;

void compute(long turns) {
  volatile unsigned long x = 1;
  for (long i = 0; i < turns; ++i) x = x * 3 + 1;
}

// Every number a program may have: none may be missing, and the lowest come first.
int files() {
  std::vector<int> got;
  compute(20'000'000);
  for (;;) {
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) break;
    got.push_back(fd);
  }
  std::printf("files %zu, then %s; first %d last %d\n", got.size(), std::strerror(errno),
              got.empty() ? -1 : got.front(), got.empty() ? -1 : got.back());
  for (const int fd : got) close(fd);
  compute(20'000'000);
  return 0;
}

int locked() {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t pages = 0;
  compute(20'000'000);
  for (; pages < 4096; ++pages) {
    void* at = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mlock(at, page) != 0) break;
  }
  std::printf("locked %zu pages\n", pages);
  return 0;
}

int file_size() {
  std::signal(SIGXFSZ, SIG_IGN);
  char name[] = "/tmp/torture-limits-XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0) return 2;
  unlink(name);
  char block[1000] = {};
  long written = 0;
  compute(20'000'000);
  while (written < 2'000'000) {
    const long now = write(fd, block, sizeof block);
    if (now <= 0) break;
    written += now;
  }
  std::printf("file of %ld bytes, then %s\n", written, std::strerror(errno));
  return 0;
}

// Half of what is left is what a careful program takes; it must get that.
int address_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  if (file == nullptr || std::fscanf(file, "%ld", &pages) != 1) return 2;
  std::fclose(file);
  compute(20'000'000);
  const std::size_t take = limit.rlim_cur / 3;
  void* at = mmap(nullptr, take, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::printf("a third of the address space: %s\n", at == MAP_FAILED ? "refused" : "given");
  if (at != MAP_FAILED) munmap(at, take);
  std::vector<void*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(std::malloc(32 * 1024));
  for (void* block : blocks) {
    if (block == nullptr) return 3;
    std::memset(block, 1, 32 * 1024);
    std::free(block);
  }
  return at == MAP_FAILED ? 4 : 0;
}

int threads(int wanted) {
  int got = 0;
  std::vector<pthread_t> all;
  for (int i = 0; i < wanted; ++i) {
    pthread_t one;
    const auto body = [](void*) -> void* {
      compute(10'000'000);
      return nullptr;
    };
    if (pthread_create(&one, nullptr, body, nullptr) != 0) break;
    all.push_back(one);
    ++got;
  }
  for (const pthread_t one : all) pthread_join(one, nullptr);
  std::printf("threads %d of %d\n", got, wanted);
  return 0;
}

int resident(std::size_t mib) {
  auto* at = static_cast<char*>(std::malloc(mib * kMiB));
  if (at == nullptr) return 3;
  for (int pass = 0; pass < 6; ++pass) {
    std::memset(at, pass, mib * kMiB);
    compute(30'000'000);
  }
  std::printf("resident %zu MiB\n", mib);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto is = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  const int number = argc > 2 ? std::atoi(argv[2]) : 4;
  if (is("files")) return files();
  if (is("locked")) return locked();
  if (is("file-size")) return file_size();
  if (is("address-space")) return address_space();
  if (is("threads")) return threads(number);
  if (is("resident")) return resident(static_cast<std::size_t>(number));
  return 2;
}
