// SPDX-License-Identifier: Apache-2.0
//
// What many components of daemon, cli and support include, precompiled
// (cmake/GpuprofComponents.cmake). Nothing of the project's own: a file includes what it uses.
#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tests/std_headers.hpp"
