// SPDX-License-Identifier: Apache-2.0
//
// What all GoogleTest programs include, precompiled (cmake/GpuprofComponents.cmake). Nothing of the
// project's own: a test includes what it uses.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/std_headers.hpp"
