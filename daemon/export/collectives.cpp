// SPDX-License-Identifier: Apache-2.0
//
// Pairs of collectives, and what the inputs of their records say.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace gpuprof::exporter {
namespace {

using Form = InputView::Form;

/// c10::ScalarType as PyTorch prints it.
constexpr std::array<std::string_view, 16> kScalarTypes = {
    "Byte",  "Char",   "Short",       "Int",          "Long",          "Half",
    "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble", "Bool",
    "QInt8", "QUInt8", "QInt32",      "BFloat16"};

template <typename Map>
const typename Map::mapped_type* look_up(const Map& map, model::RangeId id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

std::uint64_t elements(std::span<const std::uint64_t> sizes) {
  std::uint64_t product = 1;
  for (const std::uint64_t size : sizes) product *= size;
  return product;
}

/// The tensors that go in: elements of all of them, type of the first.
struct Message {
  std::uint64_t elements = 0;
  std::uint8_t dtype = 255;  // no tensor
};

Message message_of(const InputView& input) {
  auto [sum, dtype] = Message{};
  InputView tensor;
  auto rest = input.values;
  if (input.form == Form::kTensor) {
    sum = elements(input.values);
    dtype = input.dtype;
  } else if (input.form == Form::kTensorList) {
    while (next_input(rest, tensor)) {
      sum += elements(tensor.values);
      if (dtype == 255) dtype = tensor.dtype;
    }
  }
  return {sum, dtype};
}

/// What comes out of as many elements, where the splits tell: rows or elements of each part.
std::optional<std::uint64_t> elements_out(const InputView& split_in, const InputView& split_out,
                                          std::uint64_t in) {
  const auto sum = [](const InputView& split) {
    return std::accumulate(split.values.begin(), split.values.end(), std::uint64_t{0});
  };
  const bool whole = split_in.values.size() == split_in.total &&
                     split_out.values.size() == split_out.total && sum(split_in) != 0;
  if (!whole || in % sum(split_in) != 0) return std::nullopt;
  return in / sum(split_in) * sum(split_out);
}

/// The same without splits, where name and group tell.
std::optional<std::uint64_t> elements_out(std::string_view name, std::uint64_t in,
                                          std::uint64_t group) {
  constexpr std::array<std::string_view, 6> kSame = {
      "all_reduce", "allreduce_coalesced", "broadcast", "_broadcast_oop", "reduce", "_reduce_oop"};
  constexpr std::array<std::string_view, 3> kTimes = {"all_gather", "_all_gather_base", "gather"};
  constexpr std::array<std::string_view, 2> kParts = {"reduce_scatter", "_reduce_scatter_base"};
  const auto one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool peers = name.starts_with("send ") || name.starts_with("recv ");
  if (one_of(kSame) || peers || name == "all_to_all") return in;
  if (one_of(kTimes)) return in * group;
  if (one_of(kParts) && group != 0) return in / group;
  return std::nullopt;
}

/// Members of a group whose ranks lie evenly, as PyTorch's profiler writes them.
std::string members(std::int64_t start, std::int64_t stride, std::int64_t size) {
  constexpr std::int64_t kMost = 30;  // as many as PyTorch's profiler writes
  if (size < 1 || size > kMost || start < 0 || (stride < 1 && size > 1)) return {};
  std::string text;
  for (std::int64_t i = 0; i < size; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", start + i * stride);
  return fmt::format(",\"Process Group Ranks\":\"[{}]\"", text);
}

std::string split(std::string_view key, const InputView& input) {
  std::string text;
  for (const std::uint64_t value : input.values)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", static_cast<std::int64_t>(value));
  return fmt::format(",\"{}\":\"[{}]\"", key, text);
}

/// tensors, sequence number, group, rank, name, two splits, start, stride, size.
bool is_whole_record(const std::vector<InputView>& in) {
  const auto number = [&](std::size_t i) {
    return in[i].form == Form::kNumber && in[i].number == InputView::Number::kInt;
  };
  const auto list = [&](std::size_t i) {
    return in[i].form == Form::kNumberList && in[i].number == InputView::Number::kInt;
  };
  return in.size() == 10 && number(3) && in[4].form == Form::kOther && list(5) && list(6) &&
         number(7) && number(8) && number(9);
}

}  // namespace

void Collectives::add(const model::Operator& op, OpKind kind, std::string_view name) {
  if (kind == OpKind::kCollective) {
    if (record_ends_.size() < kMaxPairs) record_ends_[op.id] = op.end_ns;
    return;
  }
  const bool bare = kind == OpKind::kBareCollective;
  if (!bare) (name.starts_with("nccl:") ? nccl_ : gloo_) = true;
  if (ranges_.size() < kMaxPairs)
    ranges_.push_back({op.id,
                       op.parent,
                       {op.start_ns, op.end_ns},
                       op.name,
                       (op.flags & model::kRangeCrossing) != 0,
                       bare});
}

std::vector<model::RangeId> Collectives::finish() {
  std::vector<model::RangeId> loose;
  for (const Ranged& range : ranges_) {
    const std::uint64_t* const end = look_up(record_ends_, range.record);
    if (end != nullptr) {
      by_record_[range.record] = {range.id, range.name};
      by_range_[range.id] = range.record;
      nccl_ |= range.bare;
    }
    if (!range.crossing) continue;
    if (end == nullptr) {
      loose.push_back(range.id);
    } else {
      rejoined_[range.id] = {range.times.start_ns, std::min(range.times.end_ns, *end)};
    }
  }
  ranges_ = {};
  record_ends_ = {};
  return loose;
}

model::RangeId Collectives::range_of(model::RangeId record) const {
  const Pair* const pair = look_up(by_record_, record);
  return pair == nullptr ? 0 : pair->range;
}

model::RangeId Collectives::record_of(model::RangeId range) const {
  const model::RangeId* const record = look_up(by_range_, range);
  return record == nullptr ? 0 : *record;
}

model::StringId Collectives::name_of(model::RangeId record) const {
  const Pair* const pair = look_up(by_record_, record);
  return pair == nullptr ? 0 : pair->name;
}

const Interval* Collectives::rejoined(model::RangeId range) const {
  return look_up(rejoined_, range);
}

std::string collective_args(std::span<const std::uint64_t> inputs, std::string_view range_name) {
  std::vector<InputView> in;
  InputView input;
  while (next_input(inputs, input)) in.push_back(input);
  std::string text;
  const std::size_t colon = range_name.find(':');  // newer PyTorch names no library
  const std::string_view name = range_name.substr(colon + 1);
  if (!name.empty()) text += fmt::format(",\"Collective name\":\"{}\"", name);
  const Message message = in.empty() ? Message{} : message_of(in[0]);
  const bool sent = message.dtype != 255;
  if (sent) text += fmt::format(",\"In msg nelems\":{}", message.elements);
  if (message.dtype < kScalarTypes.size())
    text += fmt::format(",\"dtype\":\"{}\"", kScalarTypes[message.dtype]);
  if (!is_whole_record(in)) return text;
  const bool split_up = !in[5].values.empty() || !in[6].values.empty();
  const auto out = split_up ? elements_out(in[5], in[6], message.elements)
                            : elements_out(name, message.elements, in[9].values[0]);
  if (sent && out) text += fmt::format(",\"Out msg nelems\":{}", *out);
  const auto number = [&](std::string_view key, std::size_t at) {
    text += fmt::format(",\"{}\":{}", key, static_cast<std::int64_t>(in[at].values[0]));
  };
  if (in[1].form == Form::kNumber) number("Seq", 1);
  number("Rank", 3);
  text += split("In split size", in[5]) + split("Out split size", in[6]);
  number("Global rank start", 7);
  number("Global rank stride", 8);
  number("Group size", 9);
  const auto value = [&](std::size_t at) { return static_cast<std::int64_t>(in[at].values[0]); };
  return text + members(value(7), value(8), value(9));
}

}  // namespace gpuprof::exporter
