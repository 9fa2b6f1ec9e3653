// SPDX-License-Identifier: Apache-2.0
//
// Descriptors of cuDNN's graph API: bags of typed attributes.
//
// Context:  application threads
// Owns:     attribute values; finalised states are shared and never change
// Promises: a descriptor given as an attribute is independent of the caller's own from then on
// Not here: what a graph launches (backend_execute.cpp)
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cudnn/tensor.hpp"

namespace gpusim {

struct BackendState;

/// One attribute: plain elements, or descriptors.
struct Attribute {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;
  std::vector<std::shared_ptr<BackendState>> children;
};

/// What a descriptor says.
struct BackendState {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool finalized = false;
  std::map<int, Attribute> attributes;

  const Attribute* find(int name) const;
  /// The first descriptor of an attribute, or null.
  const BackendState* child(int name) const;
  /// All descriptors of an attribute.
  std::vector<const BackendState*> children(int name) const;
  /// The first element of an attribute of integers or enumerators.
  std::int64_t integer(int name, std::int64_t otherwise) const;
};

/// The object behind a cudnnBackendDescriptor_t.
struct BackendDescriptor {
  std::shared_ptr<BackendState> state;
};

/// Shape of a tensor descriptor; without dimensions if `state` is null.
Tensor tensor_of(const BackendState* state);

/// Null if the simulated GPU can run the graph, else what it lacks.
const char* why_not(const BackendState& graph);

}  // namespace gpusim
