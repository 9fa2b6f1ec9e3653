// SPDX-License-Identifier: Apache-2.0
//
// Kinds of operator inputs in model::Inputs: the forms of gpuprof/wire/operator_inputs.hpp, as they
// are stored.
//
// Context:  daemon | cli
#pragma once

#include <cstdint>

namespace gpuprof::model {

enum InputKind : std::uint64_t {
  kNothing,
  kTensor,
  kTensorList,
  kInt,
  kDouble,
  kBool,
  kIntList,
  kDoubleList,
  kBoolList,
  kOther,
  kComplex,
  kSymbol,
  kNumberList,
  kText,
  kTuple,
};

}  // namespace gpuprof::model
