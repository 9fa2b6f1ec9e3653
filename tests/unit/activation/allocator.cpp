// SPDX-License-Identifier: Apache-2.0
//
// A library that stands in for malloc.
#include <cstddef>

extern "C" void* malloc(std::size_t) noexcept { return nullptr; }
extern "C" int wake_test_inside(int number) { return number + 1; }
