// SPDX-License-Identifier: Apache-2.0
//
// Rows of sampled stacks: begins and ends of frames back into samples.
//
// Context:  cli through daemon/api
// Owns:     the frames open on each row
// Promises: a stretch without change is one sample that weighs as long; gaps are none
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "daemon/import/record.hpp"

namespace gpuprof::importer {

class SampleRows {
 public:
  /// Gets the thread, the stretch and its stack.
  using Take = std::function<void(std::uint32_t tid, std::int64_t from_ns, std::int64_t to_ns,
                                  const SampleRecord& sample)>;

  SampleRows(Names& names, Take take) : names_(names), take_(std::move(take)) {}

  /// In the order of the file.
  void change(std::uint32_t tid, bool begins, bool blocked, std::string_view name,
              std::int64_t ts_ns);

 private:
  struct Row {
    std::vector<Node> open;  // outermost first
    int blocked = 0;
    std::int64_t since_ns = 0;
    bool bare = false;  // "(no stack)"
  };
  static constexpr std::size_t kMaxRows = 100'000, kMaxOpen = 4096;

  Names& names_;
  Take take_;
  std::unordered_map<std::uint32_t, Row> rows_;
};

}  // namespace gpuprof::importer
