// SPDX-License-Identifier: Apache-2.0
//
// What a trace says besides its events: devices, rank, clock, and what gpuprof writes about itself.
//
// Context:  cli through analysis/commands
// Owns:     what it read
// Promises: members of wrong types are as if they were not there
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recording/model/events.hpp"
#include "support/result.hpp"

namespace gpuprof::importer {

struct TraceMetadata {
  struct Device {
    model::Device device{};  // its name is in `name`
    std::string name;
  };
  struct Loss {
    std::uint32_t reason = 0;
    std::uint64_t in_window = 0, total = 0;
  };
  struct Window {
    std::uint32_t index = 0;
    std::uint64_t start_ns = 0, duration_ns = 0, first_label = 0, steps = 0;
    std::string why;
  };

  std::vector<Device> devices;
  std::optional<std::int64_t> base_ns;  // CLOCK_REALTIME of ts 0
  std::string host, worker;
  std::map<std::string, std::string> facts;
  bool simulated = false;
  std::optional<bool> shapes, stacks, modules, memory;  // what was asked to be recorded

  bool written_by_gpuprof = false;  // from here on: of gpuprof's own files
  Window window;
  std::string version, program, command, session;
  std::uint32_t pid = 0, ppid = 0;
  std::vector<Loss> losses;
  std::vector<std::string> missing, notices, notes;
  std::vector<std::string> invalid_members;  // members that are no JSON
  std::uint64_t worst_gap_ns = 0;

  /// Errors: what a later gpuprof wrote in a way this one does not know.
  support::Result<void> take(std::string_view key, std::string_view json, const std::string& path);
};

}  // namespace gpuprof::importer
