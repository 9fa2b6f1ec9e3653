// SPDX-License-Identifier: Apache-2.0
//
// Collectives of torch.distributed: the range named after one and the record of its arguments.
//
// Context:  daemon (export thread) | cli
// Owns:     the pairs of one file, at most kMaxPairs
// Promises: a range that ended elsewhere is drawn until its record's end, so that it nests
// Not here: how they are written (tensorboard_operators.cpp)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "analysis/export/labels/operator_names.hpp"
#include "analysis/export/prescan/step_placement.hpp"

namespace gpuprof::exporter {

class Collectives {
 public:
  static constexpr std::size_t kMaxPairs = 1'000'000;

  /// A range nccl:… or gloo:…, one that newer PyTorch names without nccl:, or a record_param_comms.
  void add(const model::Operator& op, OpKind kind, std::string_view name);
  /// Pairs what came. Returns ids of ranges that do not nest and have no record to end with.
  std::vector<model::RangeId> finish();

  /// The range made for a record, and the other way round; 0: none.
  model::RangeId range_of(model::RangeId record) const;
  model::RangeId record_of(model::RangeId range) const;
  /// Name of the range made for a record; 0: not known.
  model::StringId name_of(model::RangeId record) const;
  /// Inputs of the record that a range was made for; 0: none.
  model::InputsId inputs_of(model::RangeId range) const;
  /// Where a range that ended elsewhere is drawn; null for all others.
  const Interval* extended_interval(model::RangeId range) const;
  const std::unordered_map<model::RangeId, Interval>& extended_intervals() const {
    return rejoined_;
  }
  /// "nccl", "gloo", or empty if no collective ran.
  std::string_view backend() const { return nccl_ ? "nccl" : gloo_ ? "gloo" : ""; }

 private:
  struct RangeEntry {
    model::RangeId id, record;
    Interval times;
    model::StringId name;
    bool non_nesting, unprefixed;
  };

  std::vector<RangeEntry> ranges_;
  struct RecordEntry {
    std::uint64_t end_ns;
    model::InputsId inputs;
  };
  std::unordered_map<model::RangeId, RecordEntry> records_;
  struct Pair {
    model::RangeId range;
    model::StringId name;
  };
  struct Record {
    model::RangeId id;
    model::InputsId inputs;
  };
  std::unordered_map<model::RangeId, Pair> by_record_;
  std::unordered_map<model::RangeId, Record> by_range_;
  std::unordered_map<model::RangeId, Interval> rejoined_;
  bool nccl_ = false, gloo_ = false;
};

/// Arguments of record_param_comms as PyTorch's profiler names them: what its inputs tell.
///
/// @param range_name As NameTable::text gives it: escaped for JSON.
std::string collective_args(std::span<const std::uint64_t> inputs, std::string_view range_name);

}  // namespace gpuprof::exporter
