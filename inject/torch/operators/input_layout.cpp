// SPDX-License-Identifier: Apache-2.0
//
// Trials.
//
// Context:  callback (calibrate_lists, expect_offsets: worker)
#include "inject/torch/operators/input_layout.hpp"

#include "gpuprof/base/bytes.hpp"
#include "gpuprof/base/readable.hpp"
#include "gpuprof/wire/operator_inputs.hpp"

namespace gpuprof::torch {

namespace {

constexpr std::uint32_t kSizesPlaces[] = {56, 64, 72};
constexpr std::uint32_t kItemsPlaces[] = {16, 24};
constexpr std::uint32_t kVectorBytes = 24;
constexpr std::uint32_t kTensorsAgreed = 16, kListsAgreed = 4;
constexpr std::uint32_t kInVain = 4096;
constexpr std::uint32_t kDtypes = 64;
// From the tag of lists: Bool, Tuple, String, Blob, GenericList.
constexpr std::uint32_t kFromBoolToList = 4;
// Of a tensor, from its sizes: where its elements begin.
constexpr std::uint32_t kOffsetAt = 88;
// From the end of the counts of references to the pointer to a tensor's version: storage, gradient,
// extra.
constexpr std::uint32_t kToVersion = 24;

template <typename T>
T peek(std::uint64_t at) {
  return base::load<T>(reinterpret_cast<const std::byte*>(at));
}

bool fits(std::uint64_t tensor, std::uint32_t sizes) {
  const std::uint64_t at = tensor + sizes;
  const auto dims = peek<std::uint64_t>(at);
  if (dims < 1 || dims > kInlineDims || peek<std::uint16_t>(at + kDtypeAt) >= kDtypes) return false;
  const auto elements = peek<std::int64_t>(at + kElementsAt);
  std::int64_t product = 1;
  for (std::uint64_t i = 0; i < dims; ++i) {
    const auto size = peek<std::int64_t>(at + kDimsAt + i * 8);
    if (size < 1 || size > elements) return false;
    product *= size;
    if (product > elements) return false;
  }
  return product == elements && product > 1;
}

void learn_tensor(InputLayout& layout, std::uint64_t tensor) {
  LearnedOffset& sizes = layout.sizes;
  if (!base::object_readable(tensor, kSizesPlaces[2] + kDtypeAt + 8)) return sizes.refuse();
  std::uint32_t place = 0, fitting = 0;
  for (const std::uint32_t at : kSizesPlaces)
    if (fits(tensor, at)) {
      place = at;
      ++fitting;
    }
  if (fitting == 1) sizes.add_match(place, kTensorsAgreed);
  // Numbers tell of no place, and there may be nothing else for long.
  else if (layout.expected_sizes == 0 || !is_plausible_tensor(tensor, layout.expected_sizes))
    sizes.add_mismatch(kInVain);
}

// Items lie behind one count or two, the second of which is small: a pointer is not.
bool fits_list(std::uint64_t list, std::uint32_t items) {
  constexpr std::uint64_t kMaxWeak = 1u << 16;
  const bool two_counts = peek<std::uint64_t>(list + kItemsPlaces[0]) < kMaxWeak;
  if (two_counts != (items == kItemsPlaces[1])) return false;
  const auto begin = peek<std::uint64_t>(list + items);
  const auto end = peek<std::uint64_t>(list + items + 8);
  const auto capacity = peek<std::uint64_t>(list + items + 16);
  return end > begin && capacity >= end && (end - begin) % sizeof(IValue) == 0 &&
         (capacity - begin) % sizeof(IValue) == 0 && base::object_readable(begin, sizeof(IValue)) &&
         peek<IValue>(begin).tag < kMaxTags;
}

void learn_list(InputLayout& layout, std::uint64_t list) {
  LearnedOffset& items = layout.items;
  if (!base::object_readable(list, kItemsPlaces[1] + kVectorBytes + 8)) return items.refuse();
  const bool first = fits_list(list, kItemsPlaces[0]), second = fits_list(list, kItemsPlaces[1]);
  if (first != second)
    items.add_match(kItemsPlaces[first ? 0 : 1], kListsAgreed);
  else if (layout.expected_items == 0 || !is_plausible_list(list, layout.expected_items))
    items.add_mismatch(kInVain);
}

/// The tensor that stands for none: one size of 0 with a stride of 1, and nothing else but a type.
bool is_undefined_tensor(std::uint64_t tensor, std::uint32_t sizes) {
  const std::uint64_t at = tensor + sizes;
  for (std::uint32_t word = 0; word <= kOffsetAt; word += 8)
    if (peek<std::uint64_t>(at + word) != (word == 0 || word == kStridesAt ? 1u : 0u)) return false;
  const auto dtype = peek<std::uint16_t>(at + kDtypeAt);
  return peek<std::uint64_t>(at + kElementsAt) <= 1 && dtype != 0 && dtype < kDtypes;
}

/// How long the counts of references are that lists have as well: ahead of a tensor's sizes, the
/// pointer to its version is all that is not empty.
std::uint32_t items_of_lists(std::uint64_t tensor, std::uint32_t sizes) {
  std::uint32_t version = 0, count = 0;
  for (std::uint32_t at = 8; at < sizes; at += 8)
    if (peek<std::uint64_t>(tensor + at) != 0) {
      version = at;
      ++count;
    }
  for (const std::uint32_t items : kItemsPlaces)
    if (count == 1 && version == items + kToVersion) return items;
  return 0;
}

/// A list that is none, but has a type of items where a list could have it.
bool is_list_tag(const Functions& call, std::uint32_t tag, std::uint64_t type) {
  std::uint64_t words[16] = {};
  for (const std::uint32_t at : kItemsPlaces) words[(at + kVectorBytes) / 8] = type;
  const IValue value{reinterpret_cast<std::uint64_t>(words), tag, 0};
  return call.is_tensor_list(&value);
}

}  // namespace

void calibrate_lists(Library& library) {
  const Functions& call = library.call;
  InputLayout& layout = library.input;
  layout.undefined_tensor = reinterpret_cast<std::uint64_t>(call.undefined_tensor);
  if (call.is_tensor_list == nullptr || call.tensor_type == nullptr) return;
  const auto type = reinterpret_cast<std::uint64_t>(*call.tensor_type());
  if (type == 0) return;
  std::uint32_t found = 0, count = 0;
  for (std::uint32_t tag = kTagInt + 1; tag < kMaxTags; ++tag)
    if (is_list_tag(call, tag, type)) {
      found = tag;
      ++count;
    }
  if (count != 1) return;
  layout.tensor_type = type;
  layout.list_tag = found;
  layout.bool_tag = found - kFromBoolToList;
}

void expect_offsets(InputLayout& layout) {
  const std::uint64_t tensor = layout.undefined_tensor;
  if (!base::object_readable(tensor, kSizesPlaces[2] + kDtypeAt + 8)) return;
  std::uint32_t place = 0, fitting = 0;
  for (const std::uint32_t at : kSizesPlaces)
    if (is_undefined_tensor(tensor, at)) {
      place = at;
      ++fitting;
    }
  if (fitting != 1) return;
  layout.expected_sizes = place;
  layout.expected_items = items_of_lists(tensor, place);
}

bool is_plausible_tensor(std::uint64_t tensor, std::uint32_t sizes) {
  if (!base::object_readable(tensor, sizes + kDtypeAt + 8)) return false;
  const std::uint64_t at = tensor + sizes;
  const auto dims = peek<std::uint64_t>(at);
  if (dims > wire::kMaxInputDims || peek<std::uint16_t>(at + kDtypeAt) >= kDtypes) return false;
  std::uint64_t from = at + kDimsAt;
  if (dims > kInlineDims) from = peek<std::uint64_t>(from);
  if (dims != 0 && !base::object_readable(from, dims * 8)) return false;
  std::int64_t product = 1;
  for (std::uint64_t i = 0; i < dims; ++i) {
    const auto size = peek<std::int64_t>(from + i * 8);
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return false;
  }
  return product == peek<std::int64_t>(at + kElementsAt);
}

bool is_plausible_list(std::uint64_t list, std::uint32_t items) {
  if (!base::object_readable(list, items + kVectorBytes + 8)) return false;
  const auto begin = peek<std::uint64_t>(list + items);
  const auto end = peek<std::uint64_t>(list + items + 8);
  const auto capacity = peek<std::uint64_t>(list + items + 16);
  const std::uint64_t bytes = end - begin;
  if (end < begin || capacity < end || bytes % sizeof(IValue) != 0 || bytes > base::kPageBytes)
    return false;
  return bytes == 0 || (base::object_readable(begin, bytes) && peek<IValue>(begin).tag < kMaxTags);
}

void learn_inputs(InputLayout& layout, std::uint64_t values, std::uint64_t count) {
  if (count > wire::kMaxInputs) count = wire::kMaxInputs;
  if (!base::object_readable(values, count * sizeof(IValue))) return layout.sizes.refuse();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = peek<IValue>(values + i * sizeof(IValue));
    if (value.tag >= kMaxTags) return layout.sizes.refuse();
    if (value.tag == kTagTensor && value.payload != layout.undefined_tensor &&
        layout.sizes.offset() == 0)
      learn_tensor(layout, value.payload);
    if (value.tag == layout.list_tag && value.tag != 0 && layout.items.offset() == 0)
      learn_list(layout, value.payload);
  }
}

}  // namespace gpuprof::torch
