// SPDX-License-Identifier: Apache-2.0
//
// The reading half of event_coding.hpp.
//
// Context:  daemon
#include <algorithm>

#include "gpuprof/base/bytes.hpp"
#include "recording/model/ignoring_sink.hpp"
#include "recording/spool/event_coding.hpp"

namespace gpuprof::spool {
namespace {

constexpr std::size_t kMaxVarintBytes = 10;

/// A number of at most eight bytes out of the first eight at `at`, its length to `bytes`; false
/// if it is longer. All lengths take the same way: a branch on them is guessed wrong too often.
inline bool short_varint(const std::byte* at, std::uint64_t* value, std::size_t* bytes) {
  const auto word = base::load<std::uint64_t>(at);
  const std::uint64_t ends = ~word & 0x8080808080808080ULL;
  if (ends == 0) return false;
  // The lowest end bit and all below it: the bytes of this number.
  std::uint64_t x = word & (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7fULL;
  x = (x & 0x007f007f007f007fULL) | ((x & 0x7f007f007f007f00ULL) >> 1);
  x = (x & 0x00003fff00003fffULL) | ((x & 0x3fff00003fff0000ULL) >> 2);
  *value = (x & 0x000000000fffffffULL) | ((x & 0x0fffffff00000000ULL) >> 4);
  *bytes = static_cast<std::size_t>(std::countr_zero(ends)) / 8 + 1;
  return true;
}

/// What no clock shows and no machine has is brought near: whoever adds it up counts in 63 bits.
/// Spans are already (FieldSetter::span).
template <typename E>
void clamp_fields(E& e) {
  if constexpr (requires { e.ts_ns; }) e.ts_ns = std::min(e.ts_ns, kMaxTimeNs);
  if constexpr (requires { e.start_real_ns; }) e.start_ns = std::min(e.start_ns, kMaxTimeNs);
  if constexpr (requires { e.weight_ns; }) e.weight_ns = std::min(e.weight_ns, kMaxDurationNs);
  if constexpr (requires { e.last_ns; }) {
    e.first_ns = std::min(e.first_ns, kMaxTimeNs);
    e.last_ns = std::min(e.last_ns, kMaxTimeNs);
  }
  if constexpr (requires { e.total_reserved_bytes; }) {
    constexpr auto kMax = static_cast<std::uint64_t>(kMaxBytes);
    e.bytes = std::clamp(e.bytes, -kMaxBytes, kMaxBytes);
    e.total_allocated_bytes = std::min(e.total_allocated_bytes, kMax);
    e.total_reserved_bytes = std::min(e.total_reserved_bytes, kMax);
  }
}

}  // namespace

bool EventDecoder::varint(std::uint64_t* value) {
  std::uint64_t result = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) return false;
    const auto byte = static_cast<std::uint64_t>(*at_++);
    result |= (byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return true;
    }
  }
  return false;
}

bool EventDecoder::numbers(std::size_t count, Numbers& last) {
  // Far from the end, which is nearly always, no number can reach beyond it.
  if (static_cast<std::size_t>(end_ - at_) >= (kMaxFields + 1) * kMaxVarintBytes)
    return numbers_by<&EventDecoder::varint_within>(count, last);
  return numbers_by<&EventDecoder::varint>(count, last);
}

template <auto kRead>
bool EventDecoder::numbers_by(std::size_t count, Numbers& last) {
  std::uint64_t mask = 0;
  if (!(this->*kRead)(&mask) || (mask >> count) != 0) return false;
  for (; mask != 0; mask &= mask - 1) {
    std::uint64_t coded = 0;
    if (!(this->*kRead)(&coded)) return false;
    last[static_cast<std::size_t>(std::countr_zero(mask))] += unzigzag(coded);
  }
  return true;
}

/// varint() where at least kMaxVarintBytes are left.
inline bool EventDecoder::varint_within(std::uint64_t* value) {
  const auto first = static_cast<std::uint64_t>(*at_);
  if (first < 0x80) {
    *value = first;
    ++at_;
    return true;
  }
  std::size_t bytes = 0;
  if (!short_varint(at_, value, &bytes)) return varint(value);
  at_ += bytes;
  return true;
}

bool EventDecoder::text(std::string_view* value) {
  std::uint64_t bytes = 0;
  if (!varint(&bytes) || bytes > static_cast<std::uint64_t>(end_ - at_)) return false;
  *value = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(bytes)};
  at_ += bytes;
  return true;
}

bool EventDecoder::lists(FieldSetter& scatter) {
  std::uint64_t native = 0, python = 0;
  if (!varint(&native) || !varint(&python)) return false;
  // Each entry takes at least a byte: a length beyond that is a lie that would cost memory.
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  if (native > left || python > left) return false;
  native_.clear();
  python_.clear();
  std::uint64_t address = 0, coded = 0;
  for (; native != 0; --native) {
    if (!varint(&coded)) return false;
    native_.push_back(address += unzigzag(coded));
  }
  for (; python != 0; --python) {
    std::uint64_t code = 0, flags = 0;
    if (!varint(&code) || !varint(&coded) || !varint(&flags)) return false;
    python_.push_back({static_cast<model::CodeId>(code), static_cast<std::int32_t>(unzigzag(coded)),
                       static_cast<std::uint32_t>(flags)});
  }
  scatter.native_ = native_;
  scatter.python_ = python_;
  return true;
}

template <typename E>
bool EventDecoder::one(Filter want, model::EventSink& sink) {
  static const FieldCollector kShape = Shape<E>::gather();
  Numbers& last = last_[Kinds::tag<E>()];
  if (!numbers(kShape.count_, last)) return false;
  FieldSetter scatter(last);
  for (std::size_t i = 0; i < kShape.text_count_; ++i)
    if (!text(&scatter.texts_[i])) return false;
  if (kShape.has_lists_ && !lists(scatter)) return false;
  if (model::Timed<E> && want == Filter::kDefinitions) return true;
  E event{};
  fields(scatter, event);
  clamp_fields(event);
  sink.on(event);
  return true;
}

template <typename... E>
constexpr auto EventDecoder::readers(model::EventList<E...>) {
  return std::array{&EventDecoder::one<E>...};
}

bool EventDecoder::decode(std::span<const std::byte> bytes, Filter want, model::EventSink& sink) {
  at_ = bytes.data();
  end_ = at_ + bytes.size();
  last_ = {};
  static constexpr auto kReaders = readers(model::Events{});
  while (at_ != end_) {
    const auto tag = static_cast<std::size_t>(*at_++);
    if (tag >= kReaders.size() || !(this->*kReaders[tag])(want, sink)) return false;
  }
  return true;
}

}  // namespace gpuprof::spool
