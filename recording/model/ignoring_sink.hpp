// SPDX-License-Identifier: Apache-2.0
//
// A sink that ignores every event: derive from it and override what you want.
//
// Context:  daemon
// Owns:     nothing
#pragma once

#include "recording/model/events.hpp"

namespace gpuprof::model {

template <typename Base, typename... E>
class Ignoring : public Base {};

template <typename Base, typename First, typename... Rest>
class Ignoring<Base, First, Rest...> : public Ignoring<Base, Rest...> {
 public:
  using Ignoring<Base, Rest...>::on;
  void on(const First&) override {}
};

template <typename List>
struct IgnoringFor;
template <typename... E>
struct IgnoringFor<EventList<E...>> {
  using Type = Ignoring<BasicSink<EventList<E...>>, E...>;
};

/// In a derived class write `using model::IgnoringSink::on;` before the overrides.
using IgnoringSink = IgnoringFor<Events>::Type;

/// True for events with a time of their own; the others are definitions.
template <typename E>
concept Timed = requires(E e) {
  e.start_ns + e.end_ns;
}
|| requires(E e) { e.weight_ns; };

}  // namespace gpuprof::model
