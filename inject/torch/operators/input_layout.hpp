// SPDX-License-Identifier: Apache-2.0
//
// Learns how inputs are kept: the tag of lists by asking libtorch about a made-up one, places by
// looking at the one tensor that libtorch has made itself, then at the first that come by.
//
// Context:  worker (calibrate_lists, expect_offsets), callback (the rest)
// Promises: nothing is read before the kernel has said that it can be
// Not here: RecordFunction itself (calibrate.hpp), reading once all is known (inputs.hpp)
#pragma once

#include "inject/torch/library.hpp"

namespace gpuprof::torch {

/// An IValue.
struct IValue {
  std::uint64_t payload;
  std::uint32_t tag;
  std::uint32_t unused;
};
static_assert(sizeof(IValue) == 16);

/// Tags that never changed.
inline constexpr std::uint32_t kTagNone = 0, kTagTensor = 1, kTagDouble = 3, kTagComplex = 4,
                               kTagInt = 5;
/// The tags just below that of booleans: booleans, floats and integers whose value is not known
/// yet.
inline constexpr std::uint32_t kSymbolicTags = 3;
/// No version has tags from here on.
inline constexpr std::uint32_t kMaxTags = 40;

/// Of a tensor, in bytes from its sizes {count, five of them or a pointer}.
inline constexpr std::uint32_t kDimsAt = 8, kStridesAt = 48, kElementsAt = 96, kDtypeAt = 104;
/// Of a tensor, from the end of the reference counts: what few tensors have, first of all the sizes
/// that are not known yet.
inline constexpr std::uint32_t kExtraAt = 16;
/// This many sizes lie in the tensor itself.
inline constexpr std::uint32_t kInlineDims = 5;

/// Asks libtorch which tag lists have. Worker.
void calibrate_lists(Library& library);

/// Finds where the tensor that stands for none keeps its sizes, so that the first operators have
/// shapes. Worker.
void expect_offsets(InputLayout& layout);

/// Whether this may be a tensor with its sizes there, all of whose sizes can be read.
bool is_plausible_tensor(std::uint64_t tensor, std::uint32_t sizes);
/// Whether this may be a list with its items there, all of which can be read.
bool is_plausible_list(std::uint64_t list, std::uint32_t items);

/// Looks at the tensors and lists among an operator's inputs while something is to be learnt.
void learn_inputs(InputLayout& layout, std::uint64_t values, std::uint64_t count);

}  // namespace gpuprof::torch
