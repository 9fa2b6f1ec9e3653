// SPDX-License-Identifier: Apache-2.0
//
// What the process's environment says about its place in a job.
//
// Context:  worker
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/agent/core.hpp"
#include "inject/hot/outbox.hpp"

namespace gpuprof::agent {

namespace {

constexpr std::size_t kMaxBytes = 256u << 10;

// Launchers' words first, so that the plain ones win where both are set.
constexpr const char* kKept[] = {"SLURM_PROCID=",
                                 "SLURM_NTASKS=",
                                 "OMPI_COMM_WORLD_RANK=",
                                 "OMPI_COMM_WORLD_SIZE=",
                                 "PMI_RANK=",
                                 "PMI_SIZE=",
                                 "MV2_COMM_WORLD_RANK=",
                                 "MV2_COMM_WORLD_SIZE=",
                                 "RANK=",
                                 "WORLD_SIZE=",
                                 "LOCAL_RANK=",
                                 "LOCAL_WORLD_SIZE=",
                                 "GROUP_RANK=",
                                 "MASTER_ADDR=",
                                 "MASTER_PORT=",
                                 "TORCHELASTIC_RUN_ID=",
                                 "CUDA_VISIBLE_DEVICES="};

void send_if_listed(const char* variable, std::size_t bytes) {
  for (const char* name : kKept) {
    const std::size_t name_bytes = strlen(name);
    if (bytes < name_bytes || bytes - name_bytes >= 256 || memcmp(variable, name, name_bytes) != 0)
      continue;
    char key[64] = "env.";
    memcpy(key + 4, name, name_bytes - 1);
    char value[256] = {};
    memcpy(value, variable + name_bytes, bytes - name_bytes);
    hot::send_fact(key, value);
  }
}

}  // namespace

// From /proc and not from environ: the program may be changing that at this moment.
void send_environment_facts() {
  const int fd = ::open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void* memory =
      mmap(nullptr, kMaxBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) {
    auto* text = static_cast<char*>(memory);
    std::size_t have = 0;
    for (ssize_t got = 1; got > 0 && have < kMaxBytes; have += static_cast<std::size_t>(got))
      if ((got = ::read(fd, text + have, kMaxBytes - have)) < 0) break;
    for (std::size_t at = 0; at < have;) {
      const std::size_t bytes = strnlen(text + at, have - at);
      send_if_listed(text + at, bytes);
      at += bytes + 1;
    }
    munmap(memory, kMaxBytes);
  }
  ::close(fd);
}

}  // namespace gpuprof::agent
