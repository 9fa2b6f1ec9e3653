// SPDX-License-Identifier: Apache-2.0
//
// A library like any other.
extern "C" int wake_test_inside(int number) { return number + 1; }
