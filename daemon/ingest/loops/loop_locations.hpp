// SPDX-License-Identifier: Apache-2.0
//
// Where in the program a loop stands.
//
// Context:  daemon (ingest thread)
// Owns:     what the target sent of code objects, up to kMaxBytes
// Promises: bounded
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/ingest/decode/decoder.hpp"
#include "daemon/ingest/steps/step_search.hpp"

namespace gpuprof::ingest {

/// Lines of the source a loop reaches over; 0: unknown.
struct LoopLineRange {
  int head = 0, last = 0;
};

class LoopLocations {
 public:
  explicit LoopLocations(std::size_t most_bytes = kMaxBytes) : most_bytes_(most_bytes) {}

  void set_line_lookup(LineLookup line_of) { line_of_ = line_of; }
  void define(const wire::PyCodeDef& def, const Tail& tail);

  /// FILE:LINE of its first line; FILE alone where the line is not known, "" where nothing is.
  std::string location(const wire::LoopDef& loop) const;
  LoopLineRange lines(const wire::LoopDef& loop) const;
  /// The path of its file ends in `file`, at the border of a name.
  bool in_file(const wire::LoopDef& loop, const std::string& file) const;
  /// The process runs the loop of a DataLoader's worker.
  bool is_dataloader_worker() const { return loader_worker_; }

 private:
  static constexpr std::size_t kMaxBytes = 16u << 20;
  struct Code {
    std::string file, table;
    std::int32_t first_line;
    std::uint16_t py_minor;
  };

  int line(const Code& code, std::int32_t offset) const;

  std::size_t most_bytes_, bytes_ = 0;
  LineLookup line_of_ = nullptr;
  std::unordered_map<std::uint64_t, Code> codes_;
  bool loader_worker_ = false;
};

}  // namespace gpuprof::ingest
