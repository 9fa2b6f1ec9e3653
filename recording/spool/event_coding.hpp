// SPDX-License-Identifier: Apache-2.0
//
// Events to bytes and back: a tag, a mask of the fields that changed, their differences, texts.
//
// Context:  daemon
// Owns:     the last values of each kind (writer and reader keep the same, per block)
// Promises: reading never leaves the bytes it was given, whatever they hold
// Not here: the list of fields (fields.hpp), blocks (block.hpp)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "recording/model/events.hpp"
#include "recording/spool/fields.hpp"

namespace gpuprof::spool {

inline constexpr std::size_t kMaxFields = 32;
/// Bytes that tag, mask and numbers of one event may take at most.
inline constexpr std::size_t kMaxHeadBytes = 1 + 5 + kMaxFields * 10;

template <typename List>
struct KindsOf;
template <typename... E>
struct KindsOf<model::EventList<E...>> {
  static constexpr std::size_t kCount = sizeof...(E);
  template <typename M>
  static constexpr std::uint8_t tag() {
    std::uint8_t at = 0;
    const bool found = ((std::is_same_v<M, E> ? true : (++at, false)) || ...);
    return found ? at : 0xff;
  }
};
using Kinds = KindsOf<model::Events>;

using Numbers = std::array<std::uint64_t, kMaxFields>;

inline std::uint64_t zigzag(std::uint64_t difference) {
  return (difference << 1) ^ (0 - (difference >> 63));
}
inline std::uint64_t unzigzag(std::uint64_t coded) { return (coded >> 1) ^ (0 - (coded & 1)); }

inline std::byte* put_varint(std::byte* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<std::byte>(value);
  return to;
}

template <typename T>
constexpr std::uint64_t widen(T value) {
  if constexpr (std::is_enum_v<T>) {
    return widen(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return value;
  }
}

/// Collects an event's numbers and texts.
class FieldCollector {
 public:
  template <typename... T>
  void operator()(const T&... values) {
    ((numbers_[count_++] = widen(values)), ...);
  }
  void span(std::uint64_t start, std::uint64_t end) { (*this)(start, end - start); }
  void bytes16(const std::array<std::uint8_t, 16>& bytes) {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(bytes);
    (*this)(halves[0], halves[1]);
  }
  void text(std::string_view value) { texts_[text_count_++] = value; }
  void list(std::span<const std::uint64_t> value) {
    native_ = value;
    has_lists_ = true;
  }
  void list(std::span<const model::PythonFrame> value) { python_ = value; }

  Numbers numbers_;
  std::size_t count_ = 0;
  std::array<std::string_view, 2> texts_;
  std::size_t text_count_ = 0;
  std::span<const std::uint64_t> native_;
  std::span<const model::PythonFrame> python_;
  bool has_lists_ = false;
};

/// Writes events behind each other; differences start anew with reset().
class EventEncoder {
 public:
  void reset() { last_ = {}; }

  /// Upper limit of what put() writes for `event`.
  template <typename E>
  static std::size_t limit(const E& event) {
    FieldCollector gather;
    fields(gather, event);
    return limit_of(gather);
  }

  /// Writes `event` at `to`, which has limit(event) bytes of room; returns the end.
  template <typename E>
  std::byte* put(std::byte* to, const E& event) {
    FieldCollector gather;
    fields(gather, event);
    constexpr std::uint8_t kTag = Kinds::tag<E>();
    static_assert(kTag < Kinds::kCount);
    *to++ = std::byte{kTag};
    to = put_numbers(to, gather, last_[kTag]);
    for (std::size_t i = 0; i < gather.text_count_; ++i) to = put_text(to, gather.texts_[i]);
    if (gather.has_lists_) to = put_lists(to, gather);
    return to;
  }

 private:
  static std::size_t limit_of(const FieldCollector& gather) {
    return kMaxHeadBytes + gather.texts_[0].size() + gather.texts_[1].size() + 20 +
           gather.native_.size() * 10 + gather.python_.size() * 15;
  }

  static std::byte* put_numbers(std::byte* to, const FieldCollector& gather, Numbers& last) {
    std::uint32_t mask = 0;
    for (std::size_t i = 0; i < gather.count_; ++i)
      mask |= static_cast<std::uint32_t>(gather.numbers_[i] != last[i]) << i;
    to = put_varint(to, mask);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(left));
      to = put_varint(to, zigzag(gather.numbers_[i] - last[i]));
      last[i] = gather.numbers_[i];
    }
    return to;
  }

  static std::byte* put_text(std::byte* to, std::string_view text) {
    to = put_varint(to, text.size());
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    return to + text.size();
  }

  static std::byte* put_lists(std::byte* to, const FieldCollector& gather) {
    to = put_varint(to, gather.native_.size());
    to = put_varint(to, gather.python_.size());
    std::uint64_t last = 0;
    for (const std::uint64_t address : gather.native_) {
      to = put_varint(to, zigzag(address - last));
      last = address;
    }
    for (const model::PythonFrame& frame : gather.python_) {
      to = put_varint(to, frame.code);
      to = put_varint(to, zigzag(widen(frame.instr_offset)));
      to = put_varint(to, frame.flags);
    }
    return to;
  }

  std::array<Numbers, Kinds::kCount> last_ = {};
};

/// 18 years after a machine's start; 208 days; 2 years of a whole recording.
inline constexpr std::uint64_t kMaxTimeNs = 1ULL << 59, kMaxDurationNs = 1ULL << 54,
                               kMaxWindowNs = 1ULL << 56;

/// Of one allocation or release, and of all of a device: more than any machine has, and sums of
/// them stay numbers.
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 44;

/// Gives an event its numbers and texts back.
class FieldSetter {
 public:
  explicit FieldSetter(const Numbers& numbers) : numbers_(numbers) {}

  template <typename... T>
  void operator()(T&... values) {
    ((values = static_cast<T>(numbers_[count_++])), ...);
  }
  /// Times that no clock shows are brought near: whoever adds them up counts in 63 bits. A length
  /// with the highest bit is an end before the begin.
  void span(std::uint64_t& start, std::uint64_t& end) {
    std::uint64_t length = 0;
    (*this)(start, length);
    start = std::min(start, kMaxTimeNs);
    end = start + (length >> 63 != 0 ? 0 : std::min(length, kMaxDurationNs));
  }
  void bytes16(std::array<std::uint8_t, 16>& bytes) {
    std::array<std::uint64_t, 2> halves;
    (*this)(halves[0], halves[1]);
    bytes = std::bit_cast<std::array<std::uint8_t, 16>>(halves);
  }
  void text(std::string_view& value) { value = texts_[text_count_++]; }
  void list(std::span<const std::uint64_t>& value) { value = native_; }
  void list(std::span<const model::PythonFrame>& value) { value = python_; }

  std::array<std::string_view, 2> texts_;
  std::span<const std::uint64_t> native_;
  std::span<const model::PythonFrame> python_;

 private:
  const Numbers& numbers_;
  std::size_t count_ = 0;
  std::size_t text_count_ = 0;
};

/// How many numbers, texts and lists an event has.
template <typename E>
struct Shape {
  static FieldCollector gather() {
    FieldCollector g;
    const E empty{};
    fields(g, empty);
    return g;
  }
};

/// Reads one block's events into a sink.
class EventDecoder {
 public:
  /// What of a block to hand on.
  enum class Filter { kAll, kDefinitions };

  /// False if the bytes are not what a writer makes; events before the damage were delivered.
  bool decode(std::span<const std::byte> bytes, Filter want, model::EventSink& sink);

 private:
  template <typename... E>
  static constexpr auto readers(model::EventList<E...>);
  template <typename E>
  bool one(Filter want, model::EventSink& sink);
  bool numbers(std::size_t count, Numbers& last);
  template <auto kRead>
  bool numbers_by(std::size_t count, Numbers& last);
  bool varint(std::uint64_t* value);
  bool varint_within(std::uint64_t* value);
  bool text(std::string_view* value);
  bool lists(FieldSetter& scatter);

  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  std::array<Numbers, Kinds::kCount> last_ = {};
  std::vector<std::uint64_t> native_;
  std::vector<model::PythonFrame> python_;
};

}  // namespace gpuprof::spool
