// SPDX-License-Identifier: Apache-2.0
//
// The invented table.
//
// Context:  application threads
// Owns:     nothing
// Promises: see kernel_names.hpp
// Not here: launching
#include "nccl/kernel_names.hpp"

#include <algorithm>
#include <cstdio>

#include "core/driver.hpp"

namespace gpusim {
namespace {

/// How calls appear in kernel names; all-to-all, gather and scatter are sends and receives.
struct CallRow {
  CollectiveKind kind;
  const char* name;
  bool computes;  ///< operation and type are part of the name
};
constexpr CallRow kCalls[] = {
    {CollectiveKind::kAllReduce, "AllReduce", true},
    {CollectiveKind::kBroadcast, "Broadcast", false},
    {CollectiveKind::kReduce, "Reduce", true},
    {CollectiveKind::kAllGather, "AllGather", false},
    {CollectiveKind::kReduceScatter, "ReduceScatter", true},
};

constexpr const char* kTypes[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                  "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};

/// Algorithm and shape by size. Trees serve middle-sized all-reduces of more than two ranks.
struct SizeRow {
  std::size_t up_to;
  const char* algorithm;
  const char* tree_algorithm;
  std::uint32_t channels, threads;
};
constexpr SizeRow kSizes[] = {
    {32u << 10, "RING_LL", "RING_LL", 1, 512},        {256u << 10, "RING_LL", "TREE_LL", 4, 512},
    {2u << 20, "RING_LL", "TREE_LL", 8, 544},         {16u << 20, "RING_LL", "RING_LL", 16, 544},
    {~std::size_t{0}, "RING_LL", "RING_LL", 24, 544},
};
constexpr std::uint16_t kRegisters = 96;
constexpr std::uint32_t kDynamicSmem = 83240;

const SizeRow& row_for(std::size_t bytes) {
  return *std::find_if(std::begin(kSizes), std::end(kSizes),
                       [&](const SizeRow& r) { return bytes <= r.up_to; });
}

const char* operation(const Collective& c) {
  const bool whole = c.number <= Number::kUint64;
  if (c.scaled) return "PreMulSum";
  switch (c.how) {
    case Combine::kProduct:
      return "Prod";
    case Combine::kMax:
    case Combine::kMin:
      return "MinMax";
    case Combine::kAverage:
      return whole ? "SumPostDiv" : "PreMulSum";
    default:
      return "Sum";
  }
}

/// The name as the compiler mangles it, kept for ever.
const char* mangled(const char* plain) {
  char text[160];
  std::snprintf(text, sizeof text, "_Z%zu%s24ncclDevKernelArgsStorageILm4096EE",
                std::char_traits<char>::length(plain), plain);
  return intern(text);
}

LibraryKernel shaped(const char* plain, const SizeRow& row, std::uint64_t length_ns) {
  return {mangled(plain),
          {row.channels, 1, 1},
          {row.threads, 1, 1},
          {0, 0, 0},
          kRegisters,
          0,
          kDynamicSmem,
          0,
          0,
          0,
          length_ns};
}

}  // namespace

LibraryKernel kernel_of(const Collective& c, int ranks) {
  const SizeRow& row = row_for(collective_bytes(c, ranks));
  const std::uint64_t length = collective_ns(c, ranks);
  const auto call = std::find_if(std::begin(kCalls), std::end(kCalls),
                                 [&](const CallRow& r) { return r.kind == c.kind; });
  if (call == std::end(kCalls)) return shaped("ncclDevKernel_SendRecv", row, length);
  const bool tree = c.kind == CollectiveKind::kAllReduce && ranks > 2;
  const char* algorithm = tree ? row.tree_algorithm : row.algorithm;
  char plain[96];
  if (call->computes)
    std::snprintf(plain, sizeof plain, "ncclDevKernel_%s_%s_%s_%s", call->name, operation(c),
                  kTypes[static_cast<int>(c.number)], algorithm);
  else
    std::snprintf(plain, sizeof plain, "ncclDevKernel_%s_%s", call->name, algorithm);
  return shaped(plain, row, length);
}

LibraryKernel kernel_of(const std::vector<Message>& messages, int ranks) {
  std::size_t bytes = 0;
  for (const Message& m : messages) bytes += m.bytes;
  return shaped("ncclDevKernel_SendRecv", row_for(bytes), messages_ns(messages, ranks));
}

}  // namespace gpusim
