// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: the graph API's descriptors.
//
// Context:  application threads
// Owns:     descriptors until the program destroys them
// Promises: what was set is given back; an attribute nobody set has no elements; every graph has
//           one engine with one configuration and no workspace
// Not here: execution (backend_execute.cpp)
#include <algorithm>
#include <cstring>

#include "cudnn/api.hpp"
#include "cudnn/backend.hpp"

using namespace gpusim;

namespace {

std::size_t width_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      return 4;
  }
}

BackendState* state_of(cudnnBackendDescriptor_t descriptor) {
  return descriptor != nullptr ? static_cast<BackendDescriptor*>(descriptor)->state.get() : nullptr;
}

/// A copy that later changes of the original cannot reach; finalised states cannot change.
std::shared_ptr<BackendState> keep(const std::shared_ptr<BackendState>& state) {
  return state->finalized ? state : std::make_shared<BackendState>(*state);
}

std::shared_ptr<BackendState> finished(cudnnBackendDescriptorType_t type) {
  auto state = std::make_shared<BackendState>();
  state->type = type;
  state->finalized = true;
  return state;
}

void put_child(BackendState& in, int name, std::shared_ptr<BackendState> child) {
  Attribute a;
  a.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  a.count = 1;
  a.children.push_back(std::move(child));
  in.attributes[name] = std::move(a);
}

void put_integer(BackendState& in, int name, std::int64_t value) {
  Attribute a;
  a.type = CUDNN_TYPE_INT64;
  a.count = 1;
  a.bytes.resize(sizeof value);
  std::memcpy(a.bytes.data(), &value, sizeof value);
  in.attributes[name] = std::move(a);
}

/// What every engine configuration needs. Programs discard one whose shared memory is unknown.
void put_needs(BackendState& config) {
  put_integer(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0);
  Attribute shared;
  shared.type = CUDNN_TYPE_INT32;
  shared.count = 1;
  shared.bytes.assign(sizeof(std::int32_t), 0);
  config.attributes[CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED] = std::move(shared);
}

/// The heuristics' one answer: a configuration holding the engine that holds the graph.
std::shared_ptr<BackendState> configure(const std::shared_ptr<BackendState>& graph) {
  auto engine = finished(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  put_child(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  put_integer(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
  auto config = finished(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  put_child(*config, CUDNN_ATTR_ENGINECFG_ENGINE, std::move(engine));
  put_needs(*config);
  return config;
}

cudnnStatus_t finalize_graph(BackendState& s) {
  if (s.children(CUDNN_ATTR_OPERATIONGRAPH_OPS).empty())
    return failed(CUDNN_STATUS_BAD_PARAM, "operation graph without operations");
  if (const char* why = why_not(s)) return not_supported(why);
  put_integer(s, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_heuristics(BackendState& s) {
  const Attribute* graph = s.find(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr || graph->children.empty())
    return failed(CUDNN_STATUS_BAD_PARAM, "heuristics without an operation graph");
  put_child(s, CUDNN_ATTR_ENGINEHEUR_RESULTS, configure(graph->children[0]));
  return CUDNN_STATUS_SUCCESS;
}

/// What finalising adds to a descriptor of each type, and what it refuses.
cudnnStatus_t finalize(BackendState& s) {
  switch (s.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(s);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristics(s);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      // Programs probe engine 1 of old fallback lists; both indices mean the one engine there is.
      if (s.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0) > 1)
        return not_supported("cudnnBackendFinalize(engine index above 1)");
      return s.child(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) != nullptr
                 ? CUDNN_STATUS_SUCCESS
                 : failed(CUDNN_STATUS_BAD_PARAM, "engine without an operation graph");
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      put_needs(s);
      return s.child(CUDNN_ATTR_ENGINECFG_ENGINE) != nullptr
                 ? CUDNN_STATUS_SUCCESS
                 : failed(CUDNN_STATUS_BAD_PARAM, "engine configuration without an engine");
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      put_integer(s, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0);
      return s.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) != nullptr
                 ? CUDNN_STATUS_SUCCESS
                 : failed(CUDNN_STATUS_BAD_PARAM, "execution plan without a configuration");
    default:
      return CUDNN_STATUS_SUCCESS;
  }
}

/// Fills the caller's descriptors with the attribute's.
cudnnStatus_t give_children(const Attribute& a, std::int64_t count, void* out) {
  auto* descriptors = static_cast<cudnnBackendDescriptor_t*>(out);
  for (std::int64_t i = 0; i < count; ++i) {
    auto* target = static_cast<BackendDescriptor*>(descriptors[i]);
    if (target == nullptr) return null_pointer("cudnnBackendGetAttribute");
    const auto& child = a.children[static_cast<std::size_t>(i)];
    if (target->state->type != child->type)
      return failed(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "cudnnBackendGetAttribute");
    target->state = child;
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* out) {
  if (out == nullptr) return null_pointer(__func__);
  auto* descriptor = new BackendDescriptor{std::make_shared<BackendState>()};
  descriptor->state->type = type;
  *out = descriptor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return destroy(static_cast<BackendDescriptor*>(descriptor));
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* elements) {
  BackendState* s = state_of(descriptor);
  if (s == nullptr || (elements == nullptr && count > 0)) return null_pointer(__func__);
  if (s->finalized) return failed(CUDNN_STATUS_BAD_PARAM, "attribute of a finalised descriptor");
  if (count < 0) return failed(CUDNN_STATUS_BAD_PARAM, __func__);
  Attribute a;
  a.type = type;
  a.count = count;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* given = static_cast<const cudnnBackendDescriptor_t*>(elements);
    for (int64_t i = 0; i < count; ++i) {
      if (given[i] == nullptr) return null_pointer(__func__);
      a.children.push_back(keep(static_cast<BackendDescriptor*>(given[i])->state));
    }
  } else {
    const auto* from = static_cast<const unsigned char*>(elements);
    a.bytes.assign(from, from + static_cast<std::size_t>(count) * width_of(type));
  }
  s->attributes[name] = std::move(a);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  BackendState* s = state_of(descriptor);
  if (s == nullptr) return null_pointer(__func__);
  if (s->finalized) return CUDNN_STATUS_SUCCESS;
  const cudnnStatus_t status = finalize(*s);
  s->finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t* count, void* out) {
  const BackendState* s = state_of(descriptor);
  if (s == nullptr) return null_pointer(__func__);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)
    return not_supported("cudnnBackendGetAttribute(execution plan as JSON)");
  const Attribute* a = s->find(name);
  if (a == nullptr) {
    store_result(count, 0);
    return CUDNN_STATUS_SUCCESS;
  }
  if (a->type != type) return failed(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, __func__);
  store_result(count, a->count);
  const int64_t given = std::clamp<int64_t>(wanted, 0, a->count);
  if (out == nullptr || given == 0) return CUDNN_STATUS_SUCCESS;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) return give_children(*a, given, out);
  std::memcpy(out, a->bytes.data(), static_cast<std::size_t>(given) * width_of(type));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetExecutionPlanWorkspaceSize(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                                 cudnnBackendDescriptor_t, size_t* bytes) {
  if (plan == nullptr || bytes == nullptr) return null_pointer(__func__);
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}
}
