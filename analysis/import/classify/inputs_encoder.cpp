// SPDX-License-Identifier: Apache-2.0
//
// encode_inputs().
//
// Context:  cli through analysis/commands
#include "analysis/import/classify/inputs_encoder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "analysis/export/labels/inputs_formatter.hpp"
#include "recording/model/input_kind.hpp"

namespace gpuprof::importer {
namespace {

using Form = model::InputKind;
using enum model::InputKind;

constexpr std::size_t kMaxWords = 1900, kMaxInputs = 64, kMaxDims = 64, kMaxListTensors = 512;
constexpr std::uint64_t kLongList = 31;  // one more than PyTorch's profiler tells
constexpr std::uint8_t kUnknownType = 255;

using Words = std::vector<std::uint64_t>;

std::uint64_t head(Form form, std::uint8_t dtype, std::size_t count, std::size_t total) {
  return form | std::uint64_t{dtype} << 8 | std::uint64_t{count & 0xffff} << 16 |
         std::uint64_t{total} << 32;
}

/// c10::ScalarType of PyTorch's own spelling.
std::uint8_t dtype_of(std::string_view name) {
  for (std::uint8_t dtype = 0; !exporter::dtype_name(dtype).empty(); ++dtype)
    if (exporter::dtype_name(dtype) == name) return dtype;
  return kUnknownType;
}

struct Number {
  Form form = kSymbol;
  std::uint64_t value = 0, imaginary = 0;
};

Number complex_of(std::string_view text) {
  text.remove_suffix(1);
  const std::size_t at = text.find_last_of("+-");
  if (at == text.npos || at == 0) return {};
  // A sign behind an exponent's letter is the exponent's.
  const std::size_t cut = text[at - 1] == 'e' ? text.find_last_of("+-", at - 1) : at;
  if (cut == text.npos || cut == 0) return {};
  const auto real = parse_double(text.substr(0, cut)), imaginary = parse_double(text.substr(cut));
  if (!real || !imaginary) return {};
  return {kComplex, std::bit_cast<std::uint64_t>(*real), std::bit_cast<std::uint64_t>(*imaginary)};
}

/// One as PyTorch prints an IValue.
Number number_of(std::string_view text) {
  if (text == "True" || text == "False") return {kBool, text == "True" ? 1ULL : 0ULL};
  if (text.empty() || text == "?") return {};
  if (text.ends_with('j')) return complex_of(text);
  const bool whole = text.find_first_of(".eEni") == text.npos;
  if (whole) {
    const auto value = parse_int64(text);
    return value ? Number{kInt, static_cast<std::uint64_t>(*value)} : Number{};
  }
  const auto value = parse_double(text);
  return value ? Number{kDouble, std::bit_cast<std::uint64_t>(*value)} : Number{};
}

void put(Words& words, const Number& number) {
  words.push_back(head(number.form, 0, 0, 0));
  if (number.form != kSymbol) words.push_back(number.value);
  if (number.form == kComplex) words.push_back(number.imaginary);
}

void put_text(Words& words, std::string_view text) {
  const std::string_view kept = text.substr(0, 64);
  const std::size_t count = (kept.size() + 7) / 8;
  // A text that was cut keeps its mark: longer than what is there.
  words.push_back(head(kText, 0, count, std::min<std::size_t>(text.size(), 65)));
  const std::size_t at = words.size();
  words.resize(at + count);
  if (!kept.empty()) std::memcpy(words.data() + at, kept.data(), kept.size());
}

/// `[1, 2]`, `[True]`, `[1., ?]`.
void put_list(Words& words, std::string_view text) {
  std::vector<Number> numbers;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    numbers.push_back(number_of(one));
    if (numbers.size() >= kLongList) break;
  }
  const Form first = numbers.empty() ? kInt : numbers[0].form;
  const bool same = first <= kBool && first >= kInt &&
                    std::all_of(numbers.begin(), numbers.end(),
                                [&](const Number& number) { return number.form == first; });
  if (!same) {
    words.push_back(head(kNumberList, 0, numbers.size(), numbers.size()));
    for (const Number& number : numbers) put(words, number);
    return;
  }
  words.push_back(
      head(static_cast<Form>(kIntList + (first - kInt)), 0, numbers.size(), numbers.size()));
  for (const Number& number : numbers) words.push_back(number.value);
}

/// Entries of an array one level down: each a run of tokens.
std::vector<std::span<const ArrayToken>> entries(std::span<const ArrayToken> tokens) {
  std::vector<std::span<const ArrayToken>> all;
  if (tokens.size() < 2) return all;
  int depth = 0;
  std::size_t from = 1;
  for (std::size_t i = 1; i + 1 < tokens.size(); ++i) {
    depth += tokens[i].form == ArrayToken::Form::kOpen    ? 1
             : tokens[i].form == ArrayToken::Form::kClose ? -1
                                                          : 0;
    if (depth != 0) continue;
    all.push_back(tokens.subspan(from, i + 1 - from));
    from = i + 1;
  }
  return all;
}

void put_tensor(Words& words, std::span<const ArrayToken> dims, std::uint8_t dtype) {
  const std::size_t at = words.size();
  words.push_back(0);
  for (const ArrayToken& token : dims)
    if (token.form == ArrayToken::Form::kNumber && words.size() - at <= kMaxDims)
      words.push_back(static_cast<std::uint64_t>(parse_int64(token.text).value_or(0)));
  words[at] = head(kTensor, dtype, words.size() - at - 1, 0);
}

void put_tensor_list(Words& words, std::span<const ArrayToken> dims) {
  const auto tensors = entries(dims);
  const std::size_t kept = std::min(tensors.size(), kMaxListTensors);
  words.push_back(head(kTensorList, 0, kept, tensors.size()));
  for (std::size_t i = 0; i < kept; ++i) put_tensor(words, tensors[i], kUnknownType);
}

bool is_nested(std::span<const ArrayToken> dims) {
  return dims.size() > 2 && dims[1].form == ArrayToken::Form::kOpen;
}
bool has_sizes(std::span<const ArrayToken> dims) {
  return dims.size() > 2 && dims[1].form == ArrayToken::Form::kNumber;
}

void put_input(Words& words, std::span<const ArrayToken> dims, std::string_view type,
               std::string_view concrete) {
  const std::uint8_t dtype = dtype_of(type);
  if (is_nested(dims) || type == "TensorList") return put_tensor_list(words, dims);
  if (dtype != kUnknownType || has_sizes(dims)) return put_tensor(words, dims, dtype);
  const bool listed = concrete.size() >= 2 && concrete.front() == '[' && concrete.back() == ']';
  if (type == "ScalarList" && listed) return put_list(words, concrete);
  // PyTorch's older profilers named a number's type and no value.
  if (type == "Scalar" || type == "Int" || type == "Bool" || type == "Double")
    return put(words, number_of(concrete));
  words.push_back(head(type.empty() ? kNothing : kOther, 0, 0, 0));
}

/// Behind the tensors of record_param_comms stand its number, group, rank, name, two splits, start,
/// stride, size of the group: texts of these have keys of their own.
void add_texts(const RawEvent& e, std::vector<Words>& inputs) {
  const auto form = [&](std::size_t i) { return inputs[i][0] & 0xff; };
  for (const std::size_t from : {std::size_t{1}, std::size_t{0}}) {
    if (inputs.size() < from + 9) continue;
    if (form(from + 2) != kInt || form(from + 4) != kIntList || form(from + 5) != kIntList)
      continue;
    if (const auto number = e.integer(Arg::kSeq))
      inputs[from] = {head(kInt, 0, 0, 0), static_cast<std::uint64_t>(*number)};
    Words group = {0};
    put_text(group, e.text(Arg::kGroupName));
    put_text(group, e.text(Arg::kGroupDescription));
    group[0] = head(kTuple, 0, 2, 2);
    inputs[from + 1] = std::move(group);
    inputs[from + 3].clear();
    put_text(inputs[from + 3], e.text(Arg::kCollective));
    return;
  }
}

}  // namespace

std::vector<std::uint64_t> encode_inputs(const RawEvent& e, bool is_collective) {
  const auto dims = entries(e.dims), types = entries(e.types), concrete = entries(e.concrete);
  const auto text_at = [](const auto& all, std::size_t i) {
    return i < all.size() && all[i].size() == 1 ? all[i][0].text : std::string_view();
  };
  std::vector<Words> inputs;
  const std::size_t count = std::min(std::max(dims.size(), types.size()), kMaxInputs);
  for (std::size_t i = 0; i < count; ++i) {
    const auto sizes = i < dims.size() ? dims[i] : std::span<const ArrayToken>();
    put_input(inputs.emplace_back(), sizes, text_at(types, i), text_at(concrete, i));
  }
  if (is_collective) add_texts(e, inputs);
  Words words;
  for (const Words& one : inputs) {
    if (words.size() + one.size() > kMaxWords) break;
    words.insert(words.end(), one.begin(), one.end());
  }
  return words;
}

}  // namespace gpuprof::importer
