// SPDX-License-Identifier: Apache-2.0
//
// The reading half of event_coding.hpp.
//
// Context:  daemon
#include "daemon/model/ignoring_sink.hpp"
#include "daemon/spool/event_coding.hpp"

namespace gpuprof::spool {

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
  std::uint64_t mask = 0;
  if (!varint(&mask) || (mask >> count) != 0) return false;
  for (; mask != 0; mask &= mask - 1) {
    std::uint64_t coded = 0;
    if (!varint(&coded)) return false;
    last[static_cast<std::size_t>(std::countr_zero(mask))] += unzigzag(coded);
  }
  return true;
}

bool EventDecoder::text(std::string_view* value) {
  std::uint64_t bytes = 0;
  if (!varint(&bytes) || bytes > static_cast<std::uint64_t>(end_ - at_)) return false;
  *value = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(bytes)};
  at_ += bytes;
  return true;
}

bool EventDecoder::lists(Scatter& scatter) {
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
bool EventDecoder::one(Want want, model::EventSink& sink) {
  static const Gather kShape = Shape<E>::gather();
  Numbers& last = last_[Kinds::tag<E>()];
  if (!numbers(kShape.count_, last)) return false;
  Scatter scatter(last);
  for (std::size_t i = 0; i < kShape.text_count_; ++i)
    if (!text(&scatter.texts_[i])) return false;
  if (kShape.has_lists_ && !lists(scatter)) return false;
  if (model::Timed<E> && want == Want::kDefinitions) return true;
  E event{};
  fields(scatter, event);
  sink.on(event);
  return true;
}

template <typename... E>
constexpr auto EventDecoder::readers(model::EventList<E...>) {
  return std::array{&EventDecoder::one<E>...};
}

bool EventDecoder::decode(std::span<const std::byte> bytes, Want want, model::EventSink& sink) {
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
