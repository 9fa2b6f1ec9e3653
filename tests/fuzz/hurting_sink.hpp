// SPDX-License-Identifier: Apache-2.0
//
// Passes events on with fields that no honest process has, from a seed.
//
// Context:  tests
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "recording/model/events.hpp"
#include "recording/spool/fields.hpp"

namespace gpuprof::test {

/// Draws what a hostile file would hold.
class FieldCorruptor {
 public:
  explicit FieldCorruptor(std::uint64_t seed) : random_(seed) {
    constexpr std::array kOneIn = {1'000'000u, 200u, 40u, 10u, 3u};
    one_in_ = kOneIn[random_() % kOneIn.size()];
  }

  bool now() { return random_() % one_in_ == 0; }
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  /// A number near a limit, near nothing, near `old`, or any.
  std::uint64_t number(std::uint64_t old) {
    constexpr std::array<std::uint64_t, 9> kLimits = {
        0,          ~0ULL,      1ULL << 63, (1ULL << 63) - 1, 1ULL << 32, 0xffffffffULL,
        1ULL << 31, 1ULL << 53, 1ULL << 20};
    const std::uint64_t near = pick(4);
    switch (pick(5)) {
      case 0:
        return kLimits[pick(kLimits.size())] + near - 1;
      case 1:
        return near;
      case 2:
        return old + pick(2'000'000) - 1'000'000;
      case 3:
        return random_() >> pick(64);
      default:
        return old + near - 2;
    }
  }
  std::string_view text() {
    constexpr std::array<std::string_view, 12> kTexts = {"",
                                                         "=1+1",
                                                         "\xff\xfe",
                                                         "a\nb\r\n",
                                                         "</script><script>alert(1)</script>",
                                                         "%s%n",
                                                         "\x1b[31m\xc2\x9b",
                                                         "ProfilerStep#18446744073709551615",
                                                         "[pytorch|profiler]",
                                                         "../../etc/passwd",
                                                         "nn.Module: A_99999999999999999999",
                                                         "{\"a\": [1e999, NaN]}"};
    if (pick(8) != 0) return kTexts[pick(kTexts.size())];
    // A quarter of what a block takes: one event with two of them still fits.
    texts_.emplace_back(pick(8) == 0 ? pick(250'000) : pick(5000), static_cast<char>(random_()));
    return texts_.back();
  }
  std::span<const std::uint64_t> numbers(std::span<const std::uint64_t> old) {
    lists_.emplace_back(old.begin(), old.end());
    lists_.back().resize(pick(4) == 0 ? pick(600) : old.size() + pick(3));
    for (std::uint64_t& one : lists_.back())
      if (pick(2) == 0) one = number(one);
    return lists_.back();
  }
  std::span<const model::PythonFrame> frames(std::span<const model::PythonFrame> old) {
    frames_.emplace_back(old.begin(), old.end());
    frames_.back().resize(pick(4) == 0 ? pick(600) : old.size() + pick(3));
    for (model::PythonFrame& one : frames_.back())
      one = {static_cast<model::CodeId>(number(one.code)), static_cast<std::int32_t>(number(0)),
             static_cast<std::uint32_t>(pick(8))};
    return frames_.back();
  }
  void forget() { texts_.clear(), lists_.clear(), frames_.clear(); }

 private:
  std::mt19937_64 random_;
  std::uint32_t one_in_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::uint64_t>> lists_;
  std::deque<std::vector<model::PythonFrame>> frames_;
};

/// Visits the fields of one event.
struct CorruptFields {
  FieldCorruptor& hostile;

  template <typename... T>
  void operator()(T&... values) {
    ((hostile.now()
          ? void(values = static_cast<T>(hostile.number(static_cast<std::uint64_t>(values))))
          : void()),
     ...);
  }
  void span(std::uint64_t& start, std::uint64_t& end) { (*this)(start, end); }
  void bytes16(std::array<std::uint8_t, 16>& bytes) {
    for (auto& byte : bytes) (*this)(byte);
  }
  void text(std::string_view& value) {
    if (hostile.now()) value = hostile.text();
  }
  void list(std::span<const std::uint64_t>& value) {
    if (hostile.now()) value = hostile.numbers(value);
  }
  void list(std::span<const model::PythonFrame>& value) {
    if (hostile.now()) value = hostile.frames(value);
  }
};

template <typename Base, typename... E>
class CorruptEach : public Base {
 public:
  using Base::Base;
};
template <typename Base, typename First, typename... Rest>
class CorruptEach<Base, First, Rest...> : public CorruptEach<Base, Rest...> {
 public:
  using CorruptEach<Base, Rest...>::CorruptEach;
  using CorruptEach<Base, Rest...>::on;
  void on(const First& event) override { this->pass(event); }
};
class CorruptBase : public model::EventSink {
 public:
  CorruptBase(FieldCorruptor& hostile, model::EventSink& to) : hostile_(hostile), to_(to) {}

 protected:
  /// None, one or several of it, hurt each in its own way.
  template <typename E>
  void pass(const E& event) {
    if (hostile_.now() && hostile_.pick(3) == 0) return;
    const std::uint64_t copies = hostile_.now() ? 1 + hostile_.pick(5) : 1;
    for (std::uint64_t i = 0; i < copies; ++i) {
      E one = event;
      CorruptFields hurt{hostile_};
      spool::fields(hurt, one);
      to_.on(one);
      hostile_.forget();
    }
  }

 private:
  FieldCorruptor& hostile_;
  model::EventSink& to_;
};
template <typename List>
struct CorruptAll;
template <typename... E>
struct CorruptAll<model::EventList<E...>> {
  using Type = CorruptEach<CorruptBase, E...>;
};
using CorruptingSink = CorruptAll<model::Events>::Type;

}  // namespace gpuprof::test
