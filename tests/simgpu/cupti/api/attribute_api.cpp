// SPDX-License-Identifier: Apache-2.0
//
// CUPTI entry points: attributes and switches.
//
// Context:  any
// Owns:     nothing
// Promises: attributes read back what was written; switches without effect here are accepted as the
//           real ones are
// Not here: kinds (activity_api.cpp)
#include <cstring>

#include "core/config.hpp"
#include "cupti/api/call.hpp"
#include "cupti/cupti_clock.hpp"
#include "cupti/layout.hpp"
#include "cupti/state.hpp"

using namespace gpusim;

namespace {

constexpr int kAttributes = 10;

/// Bytes of an attribute's value: sizes and limits are size_t, switches one byte.
std::size_t attribute_bytes(int attribute) {
  const bool flag = attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ||
                    attribute == CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED ||
                    attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;
  return flag ? sizeof(std::uint8_t) : sizeof(std::size_t);
}

bool attribute_known(int attribute) {
  const bool per_thread = attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;
  return attribute >= 0 && attribute < kAttributes &&
         !(per_thread && config().layout < Layout::k12_4);
}

CUptiResult set_attribute(int attribute, const std::size_t* size, const void* value) {
  if (size == nullptr || value == nullptr || !attribute_known(attribute))
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_bytes(attribute)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::uint64_t v = 0;
  std::memcpy(&v, value, attribute_bytes(attribute));
  State& s = state();
  s.attributes[attribute].store(v);
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) s.client_zeroes.store(v != 0);
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
    s.per_thread_buffers.store(v != 0);
  return CUPTI_SUCCESS;
}

CUptiResult get_attribute(int attribute, std::size_t* size, void* value) {
  if (size == nullptr || value == nullptr || !attribute_known(attribute))
    return CUPTI_ERROR_INVALID_PARAMETER;
  if (*size < attribute_bytes(attribute)) return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
  std::uint64_t v = state().attributes[attribute].load();
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
    v = state().per_thread_buffers.load() ? 1 : 0;
  std::memcpy(value, &v, attribute_bytes(attribute));
  *size = attribute_bytes(attribute);
  return CUPTI_SUCCESS;
}

}  // namespace

extern "C" {

CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize,
                                               void* value) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivitySetAttribute", Requirement::kDriver, LogLevel::kNormal,
                "attr=%d", attr);
  return call.run([&] { return set_attribute(attr, valueSize, value); });
}

CUptiResult CUPTIAPI cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t* valueSize,
                                               void* value) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityGetAttribute", Requirement::kDriver, LogLevel::kNormal,
                "attr=%d", attr);
  return call.run([&] { return get_attribute(attr, valueSize, value); });
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  ApiEntry call(GPUSIM_CALLER, "cuptiSetThreadIdType", Requirement::kDriver, LogLevel::kNormal,
                "type=%d", type);
  return call.run([&] {
    if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
        type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)
      return CUPTI_ERROR_NOT_SUPPORTED;
    state().thread_id_type.store(type);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  ApiEntry call(GPUSIM_CALLER, "cuptiGetThreadIdType", Requirement::kDriver, LogLevel::kNormal,
                " ");
  return call.run([&] {
    if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
    *type = static_cast<CUpti_ActivityThreadIdType>(state().thread_id_type.load());
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI
cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc funcTimestamp) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityRegisterTimestampCallback", Requirement::kNothing,
                LogLevel::kNormal, " ");
  if (funcTimestamp == nullptr) return call.run([] { return CUPTI_ERROR_INVALID_PARAMETER; });
  return call.run([&] {
    if (!driver_reachable()) return CUPTI_ERROR_UNKNOWN;
    set_timestamp_function(funcTimestamp);
    return CUPTI_SUCCESS;
  });
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableLatencyTimestamps", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableLaunchAttributes", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

CUptiResult CUPTIAPI cuptiActivityEnableDeviceGraph(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableDeviceGraph", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableHWTrace", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_ERROR_NOT_SUPPORTED; });
}

CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableAllocationSource", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableAllSyncRecords", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

CUptiResult CUPTIAPI cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) {
  ApiEntry call(GPUSIM_CALLER, "cuptiActivityEnableCudaEventDeviceTimestamps", Requirement::kDriver,
                LogLevel::kNormal, "enable=%u", enable);
  return call.run([] { return CUPTI_SUCCESS; });
}

}  // extern "C"
