// SPDX-License-Identifier: Apache-2.0
//
// Tables of GPU work and host calls from timelines.
//
// Context:  cli
// Owns:     the durations so far: 4 bytes an event
#pragma once

#include <array>
#include <unordered_map>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {

/// Sums by up to five numbers.
template <typename Row>
class KeyedRows {
 public:
  using Key = std::array<std::uint32_t, 5>;
  struct Entry {
    Key key;
    Row row;
    DurationCollector time;
  };

  Entry& at(const Key& key) {
    const auto [found, fresh] = index_.emplace(key, entries_.size());
    if (fresh) entries_.push_back({key, {}, {}});
    return entries_[found->second];
  }
  std::vector<Entry>& entries() { return entries_; }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0;
      for (const std::uint32_t part : key)
        hash = (hash ^ part) * 0x9e3779b97f4a7c15ULL + (hash >> 31);
      return hash;
    }
  };
  std::unordered_map<Key, std::size_t, Hash> index_;
  std::vector<Entry> entries_;
};

class GpuAggregator {
 public:
  explicit GpuAggregator(const Dictionary& dictionary) : d_(dictionary) {}

  void add(const Timeline& timeline);
  GpuTables finish();

 private:
  void take_kernels();
  void take_copies();
  void take_collectives();
  void take_waits();
  void kernels(const Timeline& t);
  void copies(const Timeline& t);
  void calls(const Timeline& t, const std::vector<Index>& blocking);
  void ranges(const Timeline& t);
  void collectives(const Timeline& t);
  StringRef name_of(const Timeline& t, Index host) const {
    return host == kNoIndex ? 0 : d_.host[t.host[host].key].name;
  }

  const Dictionary& d_;
  GpuTables all_;
  KeyedRows<KernelRow> kernels_, kernel_names_;
  KeyedRows<CopyRow> copies_;
  KeyedRows<ApiRow> calls_;
  KeyedRows<RangeRow> ranges_;
  struct CollectiveAggregate {
    CollectiveRow row;
    DurationCollector device;
  };
  KeyedRows<CollectiveAggregate> collectives_;
  struct SyncAggregate {
    GpuWaitRow row;
    Index last_step = kNoIndex;
  };
  KeyedRows<SyncAggregate> waits_;
};

}  // namespace gpuprof::report
