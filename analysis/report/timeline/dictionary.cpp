// SPDX-License-Identifier: Apache-2.0
//
// Numbers for what is equal.
//
// Context:  cli
#include <functional>

#include "analysis/report/timeline/timeline.hpp"

namespace gpuprof::report {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL ^ (hash >> 29);
}

std::uint64_t hash_of(const HostKey& k) {
  std::uint64_t hash = mixed(k.name, std::uint64_t{k.shapes} << 32 | k.stack);
  return mixed(hash, std::uint64_t{k.domain} << 8 | static_cast<std::uint64_t>(k.kind));
}

std::uint64_t hash_of(const GpuKey& k) {
  std::uint64_t hash = mixed(k.name, std::uint64_t{k.device} << 8 | static_cast<unsigned>(k.kind));
  for (std::size_t i = 0; i < 3; ++i)
    hash = mixed(hash, std::uint64_t{k.grid[i]} << 32 | k.block[i]);
  return mixed(hash, std::uint64_t{k.registers} << 32 | k.shared_bytes);
}

template <typename Key, typename Same>
Index number(std::vector<Key>& all, std::unordered_multimap<std::uint64_t, Index>& index,
             std::uint64_t hash, const Key& key, const Same& same) {
  const auto [from, to] = index.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (same(all[at->second])) return at->second;
  const auto made = static_cast<Index>(all.size());
  all.push_back(key);
  index.emplace(hash, made);
  return made;
}

}  // namespace

bool GpuKey::same(const GpuKey& o) const {
  return name == o.name && kind == o.kind && device == o.device && grid == o.grid &&
         block == o.block && registers == o.registers && shared_bytes == o.shared_bytes;
}

Index Dictionary::host_key(const HostKey& key) {
  return number(host, host_index_, hash_of(key), key, [&](const HostKey& k) { return k == key; });
}

Index Dictionary::gpu_key(const GpuKey& key) {
  return number(gpu, gpu_index_, hash_of(key), key, [&](const GpuKey& k) { return k.same(key); });
}

StackRef Dictionary::stack(const std::vector<FrameId>& frames) {
  if (frames.empty()) return 0;
  std::uint64_t hash = frames.size();
  for (const FrameId frame : frames) hash = mixed(hash, frame);
  return number(places.stacks, stack_index_, hash, frames,
                [&](const std::vector<FrameId>& s) { return s == frames; });
}

FrameId Dictionary::frame(const std::string& text, const symbols::DisplayFrame& place) {
  const auto [at, fresh] = frames_.emplace(text, static_cast<FrameId>(places.frames.size()));
  if (fresh) {
    const bool python = place.kind == symbols::FrameKind::kPython;
    places.frames.push_back({text, place.name, place.file, place.line, python,
                             python && is_user_code_file(place.file)});
  }
  return at->second;
}

Index Dictionary::module(StringRef path, StringRef name, Index parent, std::uint32_t depth) {
  const auto [at, fresh] = modules_by_path_.emplace(path, static_cast<Index>(modules.size()));
  if (fresh) modules.push_back({path, name, parent, depth});
  return at->second;
}

}  // namespace gpuprof::report
