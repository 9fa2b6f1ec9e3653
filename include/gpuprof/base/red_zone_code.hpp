// SPDX-License-Identifier: Apache-2.0
//
// Libraries whose code keeps data below the stack pointer, where nothing else may write meanwhile.
//
// Context:  any
//
// Why: oneDNN generates matrix kernels that keep data there, or something other than a stack
// address in the stack pointer (seen in TensorFlow 2.21 and jaxlib 0.7.1). What a signal or an
// injection writes there shows up later as a corrupted heap.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace gpuprof::base {

/// Prefixes of file names: oneDNN itself, and libraries that contain it.
inline constexpr std::array<std::string_view, 7> kRedZoneFiles = {
    "libdnnl",       "libmkldnn",    "libtensorflow", "_pywrap_tensorflow", "lib_pywrap_tensorflow",
    "libjax_common", "xla_extension"};

/// @param path  of a mapped file
constexpr bool is_red_zone_file(std::string_view path) {
  std::string_view name = path;
  name.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  return std::any_of(kRedZoneFiles.begin(), kRedZoneFiles.end(),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}
static_assert(is_red_zone_file("/usr/lib/libdnnl.so.3") && !is_red_zone_file("libtorch_cpu.so"));

}  // namespace gpuprof::base
