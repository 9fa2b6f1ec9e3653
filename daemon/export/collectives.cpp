// SPDX-License-Identifier: Apache-2.0
//
// Pairs of collectives, and what the inputs of their records say.
//
// Context:  daemon (export thread) | cli
#include "daemon/export/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
std::string message(const InputView& input) {
  std::uint64_t sum = 0;
  std::uint8_t dtype = 255;
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
  if (dtype == 255) return {};
  std::string text = fmt::format(",\"In msg nelems\":{}", sum);
  if (dtype < kScalarTypes.size()) text += fmt::format(",\"dtype\":\"{}\"", kScalarTypes[dtype]);
  return text;
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
  if (!range_name.empty())
    text += fmt::format(",\"Collective name\":\"{}\"", range_name.substr(colon + 1));
  if (!in.empty()) text += message(in[0]);
  if (!is_whole_record(in)) return text;
  const auto number = [&](std::string_view key, std::size_t at) {
    text += fmt::format(",\"{}\":{}", key, static_cast<std::int64_t>(in[at].values[0]));
  };
  if (in[1].form == Form::kNumber) number("Seq", 1);
  number("Rank", 3);
  text += split("In split size", in[5]) + split("Out split size", in[6]);
  number("Global rank start", 7);
  number("Global rank stride", 8);
  number("Group size", 9);
  return text;
}

}  // namespace gpuprof::exporter
