// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the memory of another process.
//
// Context:  daemon | cli
#include "daemon/attach/process/process_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <algorithm>

namespace gpuprof::attach {
namespace {

base::UniqueFd open_memory(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/mem", pid);
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) fd.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd;
}

bool poke(pid_t tid, std::uint64_t address, std::span<const std::uint8_t> bytes) {
  for (std::size_t done = 0; done < bytes.size(); done += sizeof(long)) {
    const std::size_t count = std::min(sizeof(long), bytes.size() - done);
    errno = 0;
    long word = count == sizeof word ? 0
                                     : ptrace(PTRACE_PEEKDATA, tid,
                                              reinterpret_cast<void*>(address + done), nullptr);
    if (errno != 0) return false;
    memcpy(&word, bytes.data() + done, count);
    if (ptrace(PTRACE_POKEDATA, tid, reinterpret_cast<void*>(address + done),
               reinterpret_cast<void*>(word)) != 0)
      return false;
  }
  return true;
}

}  // namespace

ProcessMemory::ProcessMemory(pid_t pid) : fd_(open_memory(pid)) {}

bool ProcessMemory::read(std::uint64_t address, void* to, std::size_t bytes) const {
  auto* out = static_cast<std::uint8_t*>(to);
  while (bytes != 0) {
    const ssize_t got = pread(fd_.get(), out, bytes, static_cast<off_t>(address));
    if (got <= 0) return false;
    out += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool ProcessMemory::write(std::uint64_t address, std::span<const std::uint8_t> bytes,
                          pid_t tid) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = pwrite(fd_.get(), bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(address + done));
    if (put <= 0) return poke(tid, address + done, bytes.subspan(done));
    done += static_cast<std::size_t>(put);
  }
  return true;
}

std::vector<std::uint8_t> ProcessMemory::read_some(std::uint64_t address, std::size_t bytes) const {
  std::vector<std::uint8_t> data(bytes);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd_.get(), data.data() + done, bytes - done, static_cast<off_t>(address + done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  data.resize(done);
  return data;
}

std::string ProcessMemory::read_text(std::uint64_t address, std::size_t most) const {
  const std::vector<std::uint8_t> data = read_some(address, most);
  const auto end = std::find(data.begin(), data.end(), std::uint8_t{0});
  return {data.begin(), end};
}

}  // namespace gpuprof::attach
