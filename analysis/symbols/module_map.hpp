// SPDX-License-Identifier: Apache-2.0
//
// Which mapped object an address belonged to, and when.
//
// Context:  daemon | cli
// Owns:     copies of paths and build ids
// Promises: modules that used one address range after each other are distinguished by time
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "recording/model/events.hpp"

namespace gpuprof::symbols {

struct MappedModule {
  std::uint64_t load_bias, start, end;
  std::uint64_t seen_ns, gone_ns;  // gone_ns: kStillMapped
  std::string build_id;            // raw bytes
  std::string path;
  std::string name;  // for display: file name, or [vdso]
};
inline constexpr std::uint64_t kStillMapped = ~std::uint64_t{0};

class ModuleMap {
 public:
  void add(const model::Module& module);
  void remove(const model::ModuleUnload& gone);

  struct Match {
    const MappedModule* module = nullptr;
    /// More than one object was mapped there over time.
    bool ambiguous = false;
  };
  /// @param ts_ns Decides between objects that shared the address; kStillMapped: the latest.
  Match find(std::uint64_t pc, std::uint64_t ts_ns) const;

  std::size_t size() const { return modules_.size(); }

 private:
  std::deque<MappedModule> modules_;  // stable addresses
  /// By first address; one range may hold several modules, oldest first.
  std::multimap<std::uint64_t, MappedModule*> by_start_;
  std::uint64_t longest_ = 0;  // bytes of the longest range
};

}  // namespace gpuprof::symbols
