// SPDX-License-Identifier: Apache-2.0
//
// Pairs of collectives, and what the inputs of their records say.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/prescan/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "analysis/export/encoding/buffered_writer.hpp"

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
struct CollectivePayload {
  std::uint64_t elements = 0;
  std::uint8_t dtype = 255;  // no tensor
};

CollectivePayload message_of(const InputView& input) {
  auto [sum, dtype] = CollectivePayload{};
  InputView tensor;
  auto rest = input.values;
  if (input.form == Form::kTensor) {
    sum = elements(input.values);
    dtype = input.dtype;
  } else if (input.form == Form::kTensorList) {
    while (decode_next_input(rest, tensor)) {
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
  constexpr std::array<std::string_view, 11> kSame = {
      "all_reduce", "allreduce",   "allreduce_coalesced", "broadcast",   "_broadcast_oop",
      "reduce",     "_reduce_oop", "all_to_all",          "all_to_allv", "send",
      "recv"};
  constexpr std::array<std::string_view, 4> kTimes = {"all_gather", "_all_gather_base",
                                                      "_allgather_base", "gather"};
  constexpr std::array<std::string_view, 2> kParts = {"reduce_scatter", "_reduce_scatter_base"};
  const auto one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool peers = name.starts_with("send ") || name.starts_with("recv ");
  if (one_of(kSame) || peers) return in;
  if (one_of(kTimes)) return in * group;
  if (one_of(kParts) && group != 0) return in / group;
  return std::nullopt;
}

/// Members of a group whose ranks lie evenly, as PyTorch's profiler writes them; it writes none of
/// others.
std::string members(std::int64_t start, std::int64_t stride, std::int64_t size) {
  constexpr std::int64_t kMax = 30;  // as many as PyTorch's profiler writes
  if (size > kMax) return {};
  std::string text;
  for (std::int64_t i = 0; i < size && stride > 0; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", start + i * stride);
  return fmt::format(",\"Process Group Ranks\":\"[{}]\"", text);
}

std::string split(std::string_view key, const InputView& input) {
  std::string text;
  for (const std::uint64_t value : input.values)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", static_cast<std::int64_t>(value));
  return fmt::format(",\"{}\":\"[{}]\"", key, text);
}

std::string quoted(std::string_view key, std::string_view value) {
  std::string text = fmt::format(",\"{}\":\"", key);
  append_escaped(text, value);
  return text + '"';
}

std::vector<InputView> decoded(std::span<const std::uint64_t> words) {
  std::vector<InputView> in;
  InputView input;
  while (decode_next_input(words, input)) in.push_back(input);
  return in;
}

bool is_int(const InputView& input) {
  return input.form == Form::kNumber && input.number == InputView::Number::kInt;
}

/// The inputs of a record_param_comms behind its tensors, which some have not.
struct CommsRecord {
  InputView sequence, group, rank, name, split_in, split_out, start, stride, size;
  std::optional<bool> async;  // not told by all versions
  bool sends = true;          // some tensor

  static std::optional<CommsRecord> of(std::span<const InputView> in) {
    if (auto record = behind_tensors(in)) {
      record->sends = false;
      return record;
    }
    if (in.empty()) return std::nullopt;
    auto record = behind_tensors(in.subspan(1));
    if (record) record->sends = in[0].form != Form::kTensorList || in[0].total != 0;
    return record;
  }

  static std::optional<CommsRecord> behind_tensors(std::span<const InputView> in) {
    const auto list = [](const InputView& input) {
      return input.form == Form::kNumberList && input.number == InputView::Number::kInt;
    };
    if (in.size() < 9 || in.size() > 10) return std::nullopt;
    if (!is_int(in[2]) || !list(in[4]) || !list(in[5])) return std::nullopt;
    if (!is_int(in[6]) || !is_int(in[7]) || !is_int(in[8])) return std::nullopt;
    CommsRecord record{in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], {}};
    if (in.size() == 10 && in[9].form == Form::kNumber && in[9].number == InputView::Number::kBool)
      record.async = in[9].values[0] != 0;
    return record;
  }

  std::optional<std::uint64_t> elements_out(std::string_view called, std::uint64_t in) const {
    if (in == 0) return 0;
    const bool split_up = !split_in.values.empty() || !split_out.values.empty();
    return split_up ? exporter::elements_out(split_in, split_out, in)
                    : exporter::elements_out(called, in, size.values[0]);
  }

  static std::int64_t value(const InputView& number) {
    return static_cast<std::int64_t>(number.values[0]);
  }

  std::string sequence_text() const {
    const auto parts =
        decoded(sequence.form == Form::kTuple ? sequence.values : std::span<const std::uint64_t>());
    const InputView& number = parts.empty() ? sequence : parts[0];
    return is_int(number) ? fmt::format(",\"Seq\":{}", value(number)) : std::string();
  }

  std::string group_text() const {
    constexpr std::array<std::string_view, 2> kKeys = {"Process Group Name",
                                                       "Process Group Description"};
    if (group.form == Form::kText) return quoted(kKeys[0], group.text());
    if (group.form != Form::kTuple) return {};
    std::string text;
    const auto parts = decoded(group.values);
    for (std::size_t i = 0; i < std::min(parts.size(), kKeys.size()); ++i)
      if (parts[i].form == Form::kText && parts[i].total != 0)
        text += quoted(kKeys[i], parts[i].text());
    return text;
  }

  std::string members_text() const {
    std::string text;
    if (value(start) >= 0) text += fmt::format(",\"Global rank start\":{}", value(start));
    if (value(stride) > 0) text += fmt::format(",\"Global rank stride\":{}", value(stride));
    text += fmt::format(",\"Group size\":{}", value(size));
    return text + members(value(start), value(stride), value(size));
  }
};

}  // namespace

void Collectives::add(const model::Operator& op, OpKind kind, std::string_view name) {
  if (kind == OpKind::kCollectiveRecord) {
    if (records_.size() < kMaxPairs) records_[op.id] = {op.end_ns, op.inputs};
    return;
  }
  const bool unprefixed = kind == OpKind::kUnprefixedCollective;
  nccl_ = nccl_ || (!unprefixed && name.starts_with("nccl:"));
  gloo_ = gloo_ || (!unprefixed && name.starts_with("gloo:"));
  if (ranges_.size() < kMaxPairs)
    ranges_.push_back({op.id,
                       op.parent,
                       {op.start_ns, op.end_ns},
                       op.name,
                       (op.flags & model::kRangeCrossing) != 0,
                       unprefixed});
}

std::vector<model::RangeId> Collectives::finish() {
  std::vector<model::RangeId> loose;
  for (const RangeEntry& range : ranges_) {
    const RecordEntry* const record = look_up(records_, range.record);
    if (record != nullptr) {
      by_record_[range.record] = {range.id, range.name};
      by_range_[range.id] = {range.record, record->inputs};
      nccl_ |= range.unprefixed;
    }
    if (!range.non_nesting) continue;
    if (record == nullptr) {
      loose.push_back(range.id);
    } else {
      rejoined_[range.id] = {range.times.start_ns, std::min(range.times.end_ns, record->end_ns)};
    }
  }
  ranges_ = {};
  records_ = {};
  return loose;
}

model::RangeId Collectives::range_of(model::RangeId record) const {
  const Pair* const pair = look_up(by_record_, record);
  return pair == nullptr ? 0 : pair->range;
}

model::RangeId Collectives::record_of(model::RangeId range) const {
  const Record* const record = look_up(by_range_, range);
  return record == nullptr ? 0 : record->id;
}

model::InputsId Collectives::inputs_of(model::RangeId range) const {
  const Record* const record = look_up(by_range_, range);
  return record == nullptr ? 0 : record->inputs;
}

model::StringId Collectives::name_of(model::RangeId record) const {
  const Pair* const pair = look_up(by_record_, record);
  return pair == nullptr ? 0 : pair->name;
}

const Interval* Collectives::extended_interval(model::RangeId range) const {
  return look_up(rejoined_, range);
}

std::string collective_args(std::span<const std::uint64_t> inputs, std::string_view range_name) {
  const std::vector<InputView> in = decoded(inputs);
  const std::optional<CommsRecord> record = CommsRecord::of(in);
  std::string name(range_name.substr(range_name.find(':') + 1));  // newer PyTorch names no library
  if (record && record->name.form == Form::kText) {
    name.clear();
    append_escaped(name, record->name.text());
  }
  std::string text;
  if (!name.empty()) text += fmt::format(",\"Collective name\":\"{}\"", name);
  CollectivePayload message = in.empty() ? CollectivePayload{} : message_of(in[0]);
  // Nothing is sent: PyTorch calls that bytes.
  if (record && !record->sends) message = {0, 0};
  const bool known = message.dtype != 255;
  if (known) text += fmt::format(",\"In msg nelems\":{}", message.elements);
  if (message.dtype < kScalarTypes.size())
    text += fmt::format(",\"dtype\":\"{}\"", kScalarTypes[message.dtype]);
  if (!record) return text;
  const auto out = record->elements_out(name, message.elements);
  if (known && out) text += fmt::format(",\"Out msg nelems\":{}", *out);
  text += record->sequence_text() + fmt::format(",\"Rank\":{}", CommsRecord::value(record->rank));
  if (record->async) text += fmt::format(",\"Is asynchronized op\":{}", *record->async);
  text += split("In split size", record->split_in) + split("Out split size", record->split_out);
  return text + record->group_text() + record->members_text();
}

}  // namespace gpuprof::exporter
