// SPDX-License-Identifier: Apache-2.0
//
// One walk over the values.
//
// Context:  callback
#include "inject/torch/operators/inputs.hpp"

#include <string.h>

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "inject/torch/operators/input_layout.hpp"

namespace gpuprof::torch {

namespace {

using wire::InputForm;
using wire::InputHead;

// A boolean is one byte of its eight.
constexpr std::uint64_t kBoolMask = 1;
// Longer lists were never seen; what is longer is none.
constexpr std::uint64_t kMaxList = 1u << 24;
// From the tag of booleans: what texts and short tuples have.
constexpr std::uint32_t kFromBoolToTuple = 1, kFromBoolToText = 2;
// So many values lie in the tuple itself, behind their number.
constexpr std::uint64_t kOwnValues = 3;

template <typename T>
T peek(std::uint64_t at) {
  return base::load<T>(reinterpret_cast<const std::byte*>(at));
}

/// Where tensors and lists keep what is read.
struct Places {
  std::uint32_t sizes = 0;  // 0: nobody knows
  std::uint32_t items = 0;  // 0: lists are not followed
  // Each object is looked at before it is believed.
  bool try_sizes = false, try_items = false;
};

Places places_of(const InputLayout& layout) {
  Places places{layout.sizes.offset(), layout.items.offset()};
  if (places.sizes == LearnedOffset::kRefused) return {};
  places.try_sizes = places.sizes == 0;
  places.try_items = places.items == 0;
  if (places.try_sizes) places.sizes = layout.expected_sizes;
  if (places.try_items) places.items = layout.expected_items;
  if (places.items == LearnedOffset::kRefused || layout.list_tag == 0) places.items = 0;
  return places;
}

/// Copies a text that ends with 0. False: not all of it can be read.
bool copy_text(std::uint64_t from, char* to, std::uint32_t most) {
  if (!base::user_address(from)) return false;
  for (std::uint32_t i = 0; i < most; ++i) {
    if ((i == 0 || (from + i) % base::kPageBytes == 0) && !base::word_readable(from + i))
      return false;
    to[i] = peek<char>(from + i);
    if (to[i] == '\0') return true;
  }
  return true;
}

/// Writes words from a place on, and says where it got to; null: there was no room for all of it.
class Writer {
 public:
  using Words = std::uint64_t*;

  Writer(const InputLayout& layout, const Places& places, const std::uint64_t* end, bool texts)
      : layout_(layout), at_(places), end_(end), texts_(texts) {}

  Words value(const IValue& value, Words to) const {
    if (value.tag == kTagTensor) return tensor(value.payload, to);
    if (value.tag == kTagNone) return put(head(InputForm::kNothing), to);
    if (is_number(value.tag)) return number(value, to);
    if (value.tag == layout_.list_tag && at_.items != 0) return list(value.payload, to);
    if (is_text(value.tag)) return text(value.payload, to);
    if (texts_ && value.tag == layout_.bool_tag + kFromBoolToTuple) return tuple(value.payload, to);
    return put(head(InputForm::kOther), to);
  }

 private:
  bool is_text(std::uint32_t tag) const {
    return texts_ && at_.items != 0 && tag == layout_.bool_tag + kFromBoolToText;
  }

  // Behind the counts of references that lists have, too. Both forms of std::string begin with the
  // address of their bytes, which end with 0.
  [[gnu::noinline]] Words text(std::uint64_t at, Words to) const {
    char bytes[wire::kMaxInputText + 8] = {};
    if (!base::object_readable(at, at_.items + 8) ||
        !copy_text(peek<std::uint64_t>(at + at_.items), bytes, wire::kMaxInputText + 1))
      return put(head(InputForm::kOther), to);
    const auto total = static_cast<std::uint32_t>(strnlen(bytes, wire::kMaxInputText + 1));
    const std::uint32_t kept = total < wire::kMaxInputText ? total : wire::kMaxInputText;
    const std::uint32_t count = (kept + 7) / 8;
    if (!room(1 + count, to)) return nullptr;
    *to = head(InputForm::kText, count, total);
    memcpy(to + 1, bytes, count * 8);
    return to + 1 + count;
  }

  [[gnu::noinline]] Words tuple(std::uint64_t at, Words to) const {
    if (at_.items == 0 || !base::object_readable(at, at_.items + 8 + kOwnValues * sizeof(IValue)))
      return put(head(InputForm::kOther), to);
    const auto count = peek<std::uint64_t>(at + at_.items);
    if (count == 0 || count > kOwnValues) return put(head(InputForm::kOther), to);
    to = put(head(InputForm::kTuple, count, count), to);
    for (std::uint64_t i = 0; i < count && to != nullptr; ++i) {
      const auto item = peek<IValue>(at + at_.items + 8 + i * sizeof(IValue));
      to = is_number(item.tag) ? number(item, to)
           : is_text(item.tag) ? text(item.payload, to)
                               : put(head(InputForm::kOther), to);
    }
    return to;
  }

  bool is_symbol(std::uint32_t tag) const {
    return tag < layout_.bool_tag && tag + kSymbolicTags >= layout_.bool_tag;
  }
  bool is_number(std::uint32_t tag) const {
    return tag == kTagInt || tag == kTagDouble || tag == kTagComplex ||
           (tag == layout_.bool_tag && tag != 0) || is_symbol(tag);
  }
  Words number(const IValue& value, Words to) const {
    if (value.tag == kTagInt) return scalar(InputForm::kInt, value.payload, to);
    if (value.tag == kTagDouble) return scalar(InputForm::kDouble, value.payload, to);
    if (value.tag == kTagComplex) return complex(value.payload, to);
    if (value.tag == layout_.bool_tag)
      return scalar(InputForm::kBool, value.payload & kBoolMask, to);
    return put(head(InputForm::kSymbol), to);
  }

  bool room(std::uint64_t words, Words to) const {
    return words <= static_cast<std::uint64_t>(end_ - to);
  }
  Words put(std::uint64_t word, Words to) const {
    if (to == nullptr || to == end_) return nullptr;
    *to = word;
    return to + 1;
  }
  static constexpr std::uint64_t head(InputForm form, std::uint64_t count = 0,
                                      std::uint64_t total = 0) {
    return InputHead{form, 0, static_cast<std::uint16_t>(count), static_cast<std::uint32_t>(total)}
        .word();
  }
  Words scalar(InputForm form, std::uint64_t bits, Words to) const {
    if (!room(2, to)) return nullptr;
    to[0] = head(form);
    to[1] = bits;
    return to + 2;
  }

  // Behind the counts of references that lists have, too, where both parts are aligned as one.
  [[gnu::noinline]] Words complex(std::uint64_t at, Words to) const {
    if (at_.items == 0) return put(head(InputForm::kSymbol), to);
    const std::uint64_t parts = at + (at_.items + 15) / 16 * 16;
    if (at_.try_items && !base::object_readable(parts, 16)) return put(head(InputForm::kOther), to);
    return put(peek<std::uint64_t>(parts + 8),
               put(peek<std::uint64_t>(parts), put(head(InputForm::kComplex), to)));
  }

  Words tensor(std::uint64_t at, Words to) const {
    if (at == 0 || at == layout_.undefined_tensor) return put(head(InputForm::kOther), to);
    if (at_.try_sizes && !is_plausible_tensor(at, at_.sizes))
      return put(head(InputForm::kOther), to);
    const auto dims = peek<std::uint64_t>(at + at_.sizes);
    if (dims > wire::kMaxInputDims) return put(head(InputForm::kOther), to);
    std::uint64_t from = at + at_.sizes + kDimsAt;
    if ((dims == 0 || peek<std::uint64_t>(from) == 0) && has_no_sizes(at, dims))
      return put(head(InputForm::kOther), to);
    if (dims > kInlineDims) from = peek<std::uint64_t>(from);
    if (!room(1 + dims, to)) return nullptr;
    *to++ = InputHead{InputForm::kTensor, peek<std::uint8_t>(at + at_.sizes + kDtypeAt),
                      static_cast<std::uint16_t>(dims), 0}
                .word();
    for (std::uint64_t i = 0; i < dims; ++i) *to++ = peek<std::uint64_t>(from + i * 8);
    return to;
  }

  // Sizes that are not known yet, or a list of tensors that calls itself one: what stands where
  // sizes are is what a new tensor has there. In place of both, torch.profiler writes nothing.
  [[gnu::noinline]] bool has_no_sizes(std::uint64_t at, std::uint64_t dims) const {
    if (at_.items != 0) {
      const auto extra = peek<std::uint64_t>(at + at_.items + kExtraAt);
      if (at_.try_items && extra != 0 && !base::object_readable(extra, 8)) return true;
      if (extra != 0 && peek<std::uint64_t>(extra) != 0) return true;
    }
    if (dims < 2 || dims > kInlineDims) return false;
    const std::uint64_t sizes = at + at_.sizes + kDimsAt, strides = at + at_.sizes + kStridesAt;
    for (std::uint64_t i = 1; i < dims; ++i)
      if (peek<std::uint64_t>(sizes + i * 8) != 0 || peek<std::uint64_t>(strides + i * 8) != 0)
        return false;
    return true;
  }

  [[gnu::noinline]] Words list(std::uint64_t at, Words to) const {
    if (at_.try_items && !is_plausible_list(at, at_.items)) return put(head(InputForm::kOther), to);
    const std::uint64_t items = at + at_.items;
    const auto begin = peek<std::uint64_t>(items);
    const auto end = peek<std::uint64_t>(items + 8);
    const std::uint64_t total = (end - begin) / sizeof(IValue);
    if (end < begin || total > kMaxList) return put(head(InputForm::kOther), to);
    if (peek<std::uint64_t>(items + 24) == layout_.tensor_type) return tensors(begin, total, to);
    if (total == 0) return put(head(InputForm::kIntList), to);
    const auto first = peek<IValue>(begin).tag;
    if (first == kTagInt) return values(InputForm::kIntList, first, begin, total, to);
    if (first == kTagDouble) return values(InputForm::kDoubleList, first, begin, total, to);
    if (first == layout_.bool_tag && first != 0)
      return values(InputForm::kBoolList, first, begin, total, to);
    if (is_number(first)) return numbers(begin, total, to);
    return put(head(InputForm::kOther), to);
  }

  Words numbers(std::uint64_t from, std::uint64_t total, Words to) const {
    const std::uint64_t kept = total < wire::kMaxListValues ? total : wire::kMaxListValues;
    to = put(head(InputForm::kNumberList, kept, total), to);
    for (std::uint64_t i = 0; i < kept && to != nullptr; ++i) {
      const auto item = peek<IValue>(from + i * sizeof(IValue));
      to = is_number(item.tag) ? number(item, to) : put(head(InputForm::kOther), to);
    }
    return to;
  }

  Words tensors(std::uint64_t from, std::uint64_t total, Words to) const {
    const std::uint64_t kept = total < wire::kMaxListTensors ? total : wire::kMaxListTensors;
    to = put(head(InputForm::kTensorList, kept, total), to);
    for (std::uint64_t i = 0; i < kept && to != nullptr; ++i) {
      const auto item = peek<IValue>(from + i * sizeof(IValue));
      to = item.tag == kTagTensor ? tensor(item.payload, to) : put(head(InputForm::kOther), to);
    }
    return to;
  }

  Words values(InputForm form, std::uint32_t tag, std::uint64_t from, std::uint64_t total,
               Words const to) const {
    const std::uint64_t kept = total < wire::kMaxListValues ? total : wire::kMaxListValues;
    const std::uint64_t mask = form == InputForm::kBoolList ? kBoolMask : ~std::uint64_t{0};
    if (!room(1 + kept, to)) return nullptr;
    to[0] = head(form, kept, total);
    for (std::uint64_t i = 0; i < kept; ++i) {
      const auto item = peek<IValue>(from + i * sizeof(IValue));
      // Among others, or numbers that are not known yet among known ones.
      if (item.tag != tag) return numbers(from, total, to);
      to[1 + i] = item.payload & mask;
    }
    return to + 1 + kept;
  }

  const InputLayout& layout_;
  const Places at_;
  const std::uint64_t* const end_;
  const bool texts_;
};

}  // namespace

Inputs read_inputs(Library& library, const std::byte* function, std::uint64_t* words, bool texts) {
  const auto values = base::load<std::uint64_t>(function + library.at.inputs);
  const auto count = base::load<std::uint64_t>(function + library.at.inputs + 8);
  InputLayout& layout = library.input;
  const std::uint32_t sizes = layout.sizes.offset();
  if (sizes == LearnedOffset::kRefused || count == 0) return {};
  if (sizes == 0 || (layout.items.offset() == 0 && layout.list_tag != 0))
    learn_inputs(layout, values, count);
  const Places places = places_of(layout);
  if (places.sizes == 0) return {};
  const Writer writer(layout, places, words + wire::kMaxInputWords, texts);
  std::uint64_t* to = words;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t* next = i == wire::kMaxInputs
                              ? nullptr
                              : writer.value(peek<IValue>(values + i * sizeof(IValue)), to);
    if (next == nullptr) return {static_cast<std::uint32_t>(to - words), wire::kInputsCut};
    to = next;
  }
  return {static_cast<std::uint32_t>(to - words), 0};
}

}  // namespace gpuprof::torch
