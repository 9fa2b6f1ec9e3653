// SPDX-License-Identifier: Apache-2.0
//
// Words of gpuprof/wire/operator_inputs.hpp as JSON, spelled as PyTorch's profiler spells them.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/inputs_formatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>

#include "analysis/export/encoding/buffered_writer.hpp"
#include "recording/model/input_kind.hpp"

namespace gpuprof::exporter {
namespace {

using Form = InputView::Form;
using Number = InputView::Number;
using enum model::InputKind;

/// Ids are dense; a spool that claims one beyond this is damaged.
constexpr model::InputsId kMaxInputsId = 4'000'000;

/// Of longer lists of numbers PyTorch's profiler says nothing.
constexpr std::uint32_t kMaxListLength = 30;

constexpr std::array<std::string_view, 30> kDtypes = {
    "unsigned char",
    "signed char",
    "short int",
    "int",
    "long int",
    "c10::Half",
    "float",
    "double",
    "c10::complex<c10::Half>",
    "c10::complex<float>",
    "c10::complex<double>",
    "bool",
    "c10::qint8",
    "c10::quint8",
    "c10::qint32",
    "c10::BFloat16",
    "c10::quint4x2",
    "c10::quint2x4",
    "c10::bits1x8",
    "c10::bits2x4",
    "c10::bits4x2",
    "c10::bits8",
    "c10::bits16",
    "c10::Float8_e5m2",
    "c10::Float8_e4m3fn",
    "c10::Float8_e5m2fnuz",
    "c10::Float8_e4m3fnuz",
    "short unsigned int",
    "unsigned int",
    "long unsigned int",
};

/// How many of `words` the entries of a list of tensors take; none where they make no sense.
std::size_t list_length(std::span<const std::uint64_t> words, std::uint32_t tensors) {
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < tensors; ++i) {
    if (at >= words.size()) return 0;
    at += 1 + (words[at] >> 16 & 0xffff);
  }
  return at <= words.size() ? at : 0;
}

bool is_nest(std::uint64_t head) {
  const std::uint64_t form = head & 0xff;
  return form == kNumberList || form == kTuple;
}

/// How many of `words` the entries of a list of numbers or a tuple take; none where they make no
/// sense.
std::size_t numbers_length(std::span<const std::uint64_t> words, std::uint64_t numbers) {
  auto rest = words;
  InputView input;
  for (std::uint64_t i = 0; i < numbers; ++i)
    if (rest.empty() || is_nest(rest[0]) || !decode_next_input(rest, input)) return 0;
  return words.size() - rest.size();
}

/// A list, `write` called for each entry with commas between.
template <typename Write>
void list(std::string& out, std::span<const std::uint64_t> values, const char* comma,
          const Write& write) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += comma;
    write(values[i]);
  }
  out += ']';
}

void append_sizes(std::string& out, std::span<const std::uint64_t> sizes) {
  list(out, sizes, ",", [&](std::uint64_t size) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(size));
  });
}

void append_dims(std::string& out, const InputView& input) {
  if (input.form == Form::kTensor) return append_sizes(out, input.values);
  out += '[';
  InputView tensor;
  auto rest = input.values;
  for (bool first = true; input.form == Form::kTensorList && decode_next_input(rest, tensor);
       first = false) {
    if (!first) out += ',';
    append_sizes(out, tensor.values);
  }
  out += ']';
}

std::string_view type_of(const InputView& input) {
  switch (input.form) {
    case Form::kTensor:
      return dtype_name(input.dtype);
    case Form::kTensorList:
      return "TensorList";
    case Form::kNumber:
      return "Scalar";
    case Form::kNumberList:
      return input.total > kMaxListLength ? "" : "ScalarList";
    default:
      return "";
  }
}

/// As PyTorch prints one: by a whole number and a dot where it is one of 64 bits, else all digits.
void append_double(std::string& out, double value) {
  constexpr double kLimit = 0x1p63;
  if (value >= -kLimit && value < kLimit && std::trunc(value) == value)
    fmt::format_to(std::back_inserter(out), "{}.", static_cast<std::int64_t>(value));
  else
    fmt::format_to(std::back_inserter(out), "{:.17g}", value);
}

/// As PyTorch prints an IValue.
void append_value(std::string& out, Number number, std::uint64_t word) {
  if (number == Number::kBool) {
    out += word != 0 ? "True" : "False";
  } else if (number == Number::kInt) {
    fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(word));
  } else {
    append_double(out, std::bit_cast<double>(word));
  }
}

void append_input_number(std::string& out, const InputView& input) {
  if (input.number == Number::kComplex) {
    const auto imaginary = std::bit_cast<double>(input.values[1]);
    append_double(out, std::bit_cast<double>(input.values[0]));
    out += imaginary >= 0 ? '+' : '-';
    append_double(out, std::abs(imaginary));
    out += 'j';
  } else if (input.number != Number::kSymbol) {
    append_value(out, input.number, input.values[0]);
  }
}

/// Entries with heads of their own.
void append_mixed(std::string& out, std::span<const std::uint64_t> words) {
  out += '[';
  InputView entry;
  for (bool first = true; decode_next_input(words, entry); first = false) {
    if (!first) out += ", ";
    if (entry.form == Form::kNumber && entry.number != Number::kSymbol)
      append_input_number(out, entry);
    else
      out += '?';
  }
  out += ']';
}

void append_concrete(std::string& out, const InputView& input) {
  out += '"';
  if (input.form == Form::kNumber) {
    append_input_number(out, input);
  } else if (input.form == Form::kNumberList && input.total <= kMaxListLength) {
    if (input.number == Number::kMixed)
      append_mixed(out, input.values);
    else
      list(out, input.values, ", ",
           [&](std::uint64_t word) { append_value(out, input.number, word); });
  }
  out += '"';
}

}  // namespace

std::string InputView::text() const {
  std::string bytes(values.size() * sizeof(std::uint64_t), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  if (total <= bytes.size()) return bytes.substr(0, total);
  return bytes + "…";
}

std::string_view dtype_name(std::uint8_t dtype) {
  return dtype < kDtypes.size() ? kDtypes[dtype] : std::string_view();
}

bool decode_next_input(std::span<const std::uint64_t>& words, InputView& input) {
  if (words.empty()) return false;
  const std::uint64_t head = words[0], form = head & 0xff;
  const auto count = static_cast<std::size_t>(head >> 16 & 0xffff);
  const auto rest = words.subspan(1);
  std::size_t length = 0;
  input = InputView{};
  input.dtype = static_cast<std::uint8_t>(head >> 8);
  input.total = static_cast<std::uint32_t>(head >> 32);
  if (form == kTensor) {
    input.form = Form::kTensor;
    length = count;
  } else if (form == kTensorList) {
    input.form = Form::kTensorList;
    length = list_length(rest, static_cast<std::uint32_t>(count));
  } else if (form >= kInt && form <= kBool) {
    input.form = Form::kNumber;
    input.number = static_cast<Number>(form - kInt);
    length = 1;
  } else if (form >= kIntList && form <= kBoolList) {
    input.form = Form::kNumberList;
    input.number = static_cast<Number>(form - kIntList);
    length = count;
  } else if (form == kComplex || form == kSymbol) {
    input.form = Form::kNumber;
    input.number = form == kComplex ? Number::kComplex : Number::kSymbol;
    length = form == kComplex ? 2 : 0;
  } else if (form == kNumberList) {
    input.form = Form::kNumberList;
    input.number = Number::kMixed;
    length = numbers_length(rest, count);
  } else if (form == kText) {
    input.form = Form::kText;
    length = count;
  } else if (form == kTuple) {
    input.form = Form::kTuple;
    length = numbers_length(rest, count);
  } else {
    input.form = form == 0 ? Form::kNothing : Form::kOther;
  }
  if (length > rest.size()) return false;
  input.values = rest.first(length);
  words = rest.subspan(length);
  return true;
}

void InputsFormatter::define(const model::Inputs& inputs) {
  if (inputs.id > kMaxInputsId) return;
  if (words_.size() + inputs.words.size() > kMaxWords) {
    ++left_out_;
    return;
  }
  if (inputs.id >= kept_.size())
    kept_.resize(std::max<std::size_t>(inputs.id + 1, kept_.size() * 2));
  kept_[inputs.id] = {words_.size(), static_cast<std::uint32_t>(inputs.words.size()), inputs.flags};
  words_.insert(words_.end(), inputs.words.begin(), inputs.words.end());
}

std::span<const std::uint64_t> InputsFormatter::words(model::InputsId id) const {
  if (id == 0 || id >= kept_.size()) return {};
  return std::span(words_).subspan(kept_[id].at, kept_[id].count);
}

std::string_view InputsFormatter::json_members(model::InputsId id) {
  auto rest = words(id);
  if (rest.empty()) return {};
  if (const auto found = cache_.find(id); found != cache_.end()) return found->second;
  std::string dims, types, values;
  InputView input;
  while (decode_next_input(rest, input)) {
    if (!dims.empty()) dims += ',', types += ',', values += ',';
    append_dims(dims, input);
    types += fmt::format("\"{}\"", type_of(input));
    append_concrete(values, input);
  }
  std::string text = fmt::format(R"(,"Input Dims":[{}],"Input type":[{}],"Concrete Inputs":[{}])",
                                 dims, types, values);
  if ((kept_[id].flags & model::kInputsTruncated) != 0) text += R"(,"more inputs":true)";
  if (cached_bytes_ > kMaxCachedBytes) {
    cache_.clear();
    cached_bytes_ = 0;
  }
  cached_bytes_ += text.size();
  return cache_[id] = std::move(text);
}

std::string InputsFormatter::flat_json_members(model::InputsId id) const {
  std::string dims, types;
  const auto add = [&](const InputView& tensor) {
    if (!dims.empty()) dims += ',', types += ',';
    append_sizes(dims, tensor.values);
    types += fmt::format("\"{}\"", dtype_name(tensor.dtype));
  };
  InputView input, tensor;
  for (auto rest = words(id); decode_next_input(rest, input);) {
    if (input.form == Form::kTensor) add(input);
    if (input.form != Form::kTensorList) continue;
    for (auto inner = input.values; decode_next_input(inner, tensor);) add(tensor);
  }
  return dims.empty() ? std::string()
                      : fmt::format(R"(,"Input Dims":[{}],"Input type":[{}])", dims, types);
}

}  // namespace gpuprof::exporter
