// SPDX-License-Identifier: Apache-2.0
//
// Parts of attach_target: what compilers must not touch, and calls that sleep.
#pragma once

#include <cstdint>

namespace attach_test {

/// Fills all vector registers, spins for some milliseconds, compares. Null: as they were.
const char* broken_vectors();
/// A leaf that keeps values below the stack pointer while it spins; 0: as they were.
std::uint64_t red_zone_broken();
/// Sleeps 400 ms in each call of a list and prints `begin NAME` and `end NAME MS RESULT ERRNO`.
std::uint64_t sleep_in_calls();

}  // namespace attach_test
