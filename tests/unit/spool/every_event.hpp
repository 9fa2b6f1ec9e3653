// SPDX-License-Identifier: Apache-2.0
//
// Events for tests: one of each kind with numbers all different, and a training-like mix.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "recording/model/events.hpp"
#include "recording/model/ignoring_sink.hpp"

namespace gpuprof::test {

/// Prints fields as text, so that two events compare whole.
struct Printer {
  std::string out;
  template <typename... T>
  void operator()(const T&... values) {
    ((out += std::to_string(static_cast<long long>(values)) + " "), ...);
  }
  void span(std::uint64_t start, std::uint64_t end) { (*this)(start, end); }
  void bytes16(const std::array<std::uint8_t, 16>& bytes) {
    for (const auto byte : bytes) (*this)(byte);
  }
  void text(std::string_view value) { out += "'" + std::string(value) + "' "; }
  void list(std::span<const std::uint64_t> value) {
    for (const auto address : value) (*this)(address);
  }
  void list(std::span<const model::PythonFrame> value) {
    for (const auto& frame : value) (*this)(frame.code, frame.instr_offset, frame.flags);
  }
};

/// Keeps every event as text.
template <typename Base, typename... E>
class RememberEach : public Base {};
template <typename Base, typename First, typename... Rest>
class RememberEach<Base, First, Rest...> : public RememberEach<Base, Rest...> {
 public:
  using RememberEach<Base, Rest...>::on;
  void on(const First& event) override { this->remember(event); }
};
struct Memory : model::EventSink {
  template <typename E>
  void remember(const E& event);
  std::vector<std::string> sorted() const {
    auto copy = seen;
    std::sort(copy.begin(), copy.end());
    return copy;
  }
  std::vector<std::string> seen;
};
template <typename List>
struct RememberAll;
template <typename... E>
struct RememberAll<model::EventList<E...>> {
  using Type = RememberEach<Memory, E...>;
};
using Remembering = RememberAll<model::Events>::Type;

/// Sets every field to the next number, narrowed to its type.
struct Filler {
  std::uint64_t next;
  std::string texts[2] = {};
  int text_at = 0;
  std::vector<std::uint64_t> native = {};
  std::vector<model::PythonFrame> python = {};

  template <typename... T>
  void operator()(T&... values) {
    ((values = static_cast<T>((next = next * 6364136223846793005u + 1442695040888963407u) >> 20)),
     ...);
  }
  void span(std::uint64_t& start, std::uint64_t& end) {
    (*this)(start);
    end = start + 12345;
  }
  void bytes16(std::array<std::uint8_t, 16>& bytes) {
    for (auto& byte : bytes) (*this)(byte);
  }
  void text(std::string_view& value) {
    texts[text_at] = "text \"" + std::to_string(next) + std::string(1, '\0') + "\xff";
    value = texts[text_at++];
  }
  void list(std::span<const std::uint64_t>& value) {
    native = {0x7fff00001234, 0x7fff00001000, 0x400000, ~0ULL, 0};
    value = native;
  }
  void list(std::span<const model::PythonFrame>& value) {
    python = {{1, -2, 0}, {0, 0, model::kPyShim}, {70000, 1000000, model::kPyEntry}};
    value = python;
  }
};

/// One event of each kind.
void send_every_event(std::uint64_t seed, model::EventSink& sink);

/// About `events` timed events: per kernel a launch call, a kernel, some copies, ranges, samples.
void send_training(std::uint64_t events, model::EventSink& sink);

}  // namespace gpuprof::test

#include "recording/spool/fields.hpp"

namespace gpuprof::test {

template <typename E>
void Memory::remember(const E& event) {
  Printer printer;
  spool::fields(printer, event);
  seen.push_back(std::string(__PRETTY_FUNCTION__) + printer.out);
}

template <typename... E>
void send_each(std::uint64_t seed, model::EventSink& sink, model::EventList<E...>) {
  const auto one = [&]<typename M>(M event) {
    Filler filler{seed += 1000};
    spool::fields(filler, event);
    sink.on(event);
  };
  (one(E{}), ...);
}
inline void send_every_event(std::uint64_t seed, model::EventSink& sink) {
  send_each(seed, sink, model::Events{});
}

}  // namespace gpuprof::test
