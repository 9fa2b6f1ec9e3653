// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc/meminfo, the control group's files and RLIMIT_AS.
//
// Context:  tools
// Owns:     nothing
// Promises: see host_memory.hpp; a file that is not there does not bound
#include "tools/host_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace gpusim {
namespace {

constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();
// PyTorch's own libraries and threads take this much of the address space before any tensor.
constexpr std::uint64_t kProgramItself = 12ull << 30;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The number after `key` at the beginning of a line, or of the whole text if `key` is empty.
std::uint64_t number_after(const std::string& text, const std::string& key,
                           std::uint64_t otherwise) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    char* end = nullptr;
    const char* from = line.c_str() + key.size();
    const std::uint64_t n = std::strtoull(from, &end, 10);
    return end == from ? otherwise : n;
  }
  return otherwise;
}

std::uint64_t rest(std::uint64_t limit, std::uint64_t used) {
  return limit > used ? limit - used : 0;
}

/// What the machine can still give away.
std::uint64_t machine(const std::string& root) {
  const std::string info = text_of(root + "/proc/meminfo");
  std::uint64_t bound = kNoBound;
  const std::uint64_t available = number_after(info, "MemAvailable:", 0);
  if (available != 0) bound = available * 1024;
  // Without overcommit an address range that nobody writes to counts as well.
  if (number_after(text_of(root + "/proc/sys/vm/overcommit_memory"), "", 0) == 2)
    bound = std::min(
        bound, rest(number_after(info, "CommitLimit:", 0), number_after(info, "Committed_AS:", 0)) *
                   1024 / 4);
  return bound;
}

/// One folder of the unified hierarchy.
std::uint64_t group_v2(const std::string& folder) {
  const std::uint64_t limit = number_after(text_of(folder + "/memory.max"), "", kNoBound);
  if (limit == kNoBound) return kNoBound;
  const std::uint64_t cached = number_after(text_of(folder + "/memory.stat"), "inactive_file ", 0);
  return rest(limit, rest(number_after(text_of(folder + "/memory.current"), "", 0), cached));
}

std::uint64_t group_v1(const std::string& folder) {
  const std::string stat = text_of(folder + "/memory.stat");
  const std::uint64_t limit = number_after(stat, "hierarchical_memory_limit ", kNoBound);
  if (limit == kNoBound) return kNoBound;
  const std::uint64_t cached = number_after(stat, "total_inactive_file ", 0);
  const std::uint64_t used = number_after(text_of(folder + "/memory.usage_in_bytes"), "", 0);
  return rest(limit, rest(used, cached));
}

/// The group of this process and all above it. In a container the root of the mount is the group.
std::uint64_t groups(const std::string& root) {
  std::uint64_t bound = kNoBound;
  std::istringstream lines(text_of(root + "/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t path_at = line.find(':', line.find(':') + 1) + 1;
    const bool unified = line.compare(0, 3, "0::") == 0;
    if (path_at == 0 || (!unified && line.find(":memory:") == std::string::npos)) continue;
    for (std::string path = line.substr(path_at);; path.resize(path.rfind('/'))) {
      bound = std::min(bound, unified ? group_v2(root + "/sys/fs/cgroup" + path)
                                      : group_v1(root + "/sys/fs/cgroup/memory" + path));
      if (path.find('/') == std::string::npos) break;
    }
  }
  return bound;
}

std::uint64_t address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoBound;
  return std::max(rest(limit.rlim_cur, kProgramItself), limit.rlim_cur / 8);
}

int ranks_of_environment() {
  int ranks = 1;
  for (const char* name : {"LOCAL_WORLD_SIZE", "WORLD_SIZE"})
    if (const char* value = std::getenv(name)) ranks = std::max(ranks, std::atoi(value));
  return ranks;
}

/// --nproc-per-node 4, --nproc_per_node=4
int ranks_of_command(char* const* command) {
  int ranks = 1;
  for (int i = 0; command[i] != nullptr; ++i) {
    std::string word = command[i];
    std::replace(word.begin(), word.end(), '_', '-');
    constexpr std::string_view kOption = "--nproc-per-node";
    if (word.compare(0, kOption.size(), kOption) != 0) continue;
    const char* value =
        word.size() > kOption.size() ? command[i] + kOption.size() + 1 : command[i + 1];
    if (value != nullptr) ranks = std::max(ranks, std::atoi(value));
  }
  return ranks;
}

}  // namespace

std::uint64_t usable_host_memory(const std::string& root) {
  const std::uint64_t bound = std::min({machine(root), groups(root), address_space()});
  return bound == kNoBound ? bound : bound / 4 * 3;
}

int count_memory_sharers(int devices, char* const* command) {
  return std::max({1, devices, ranks_of_environment(), ranks_of_command(command)});
}

}  // namespace gpusim
