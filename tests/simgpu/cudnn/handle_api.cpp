// SPDX-License-Identifier: Apache-2.0
//
// Simulated cuDNN: handles, versions, error texts.
//
// Context:  application threads
// Owns:     one plain text per thread: the last error
// Promises: every error text says that the GPU is simulated
// Not here: descriptors
#include <cstdio>

#include "core/handles.hpp"
#include "cudnn/api.hpp"
#include "stand_in/refuse.hpp"

using namespace gpusim;

namespace {

// Plain data: threads that call in while they end must not meet a destroyed object.
thread_local char t_last_error[256];

const char* text_of(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case 0:
      return "CUDNN_STATUS_SUCCESS";
    case 1000:
      return "CUDNN_STATUS_NOT_INITIALIZED or state of the simulated GPU (gpuprof)";
    case 2000:
      return "CUDNN_STATUS_BAD_PARAM of the simulated GPU (gpuprof)";
    case 3000:
      return "CUDNN_STATUS_NOT_SUPPORTED by the simulated GPU (gpuprof)";
    case 4000:
      return "CUDNN_STATUS_INTERNAL_ERROR of the simulated GPU (gpuprof)";
    case 5000:
      return "CUDNN_STATUS_EXECUTION_FAILED on the simulated GPU (gpuprof)";
    default:
      return "unknown status of the simulated GPU (gpuprof)";
  }
}

}  // namespace

namespace gpusim {

Stream* stream_of_handle(cudnnHandle_t handle) {
  if (handle == nullptr || runtime_context() == nullptr) return nullptr;
  return stream_of(handle->stream);
}

cudnnStatus_t failed(cudnnStatus_t status, const char* what) {
  std::snprintf(t_last_error, sizeof t_last_error, "%s: %s", what, text_of(status));
  return status;
}

cudnnStatus_t null_pointer(const char* name) {
  return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, name);
}

cudnnStatus_t not_supported(const char* use) {
  return failed(static_cast<cudnnStatus_t>(gpusim_refuse(use)), use);
}

}  // namespace gpusim

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
size_t cudnnGetMaxDeviceVersion() { return 1210; }
size_t cudnnGetCudartVersion() { return CUDART_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) { return text_of(status); }

void cudnnGetLastErrorString(char* message, size_t max_size) {
  if (message != nullptr && max_size > 0) std::snprintf(message, max_size, "%s", t_last_error);
}

cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return null_pointer(__func__);
  switch (type) {
    case MAJOR_VERSION:
      *value = CUDNN_MAJOR;
      return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUDNN_MINOR;
      return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUDNN_PATCHLEVEL;
      return CUDNN_STATUS_SUCCESS;
  }
  return failed(CUDNN_STATUS_BAD_PARAM, __func__);
}

cudnnStatus_t cudnnGraphVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnOpsVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCnnVersionCheck() { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnAdvVersionCheck() { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) return null_pointer(__func__);
  if (runtime_context() == nullptr) return failed(CUDNN_STATUS_NOT_INITIALIZED, __func__);
  *handle = new cudnnContext{};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return null_pointer(__func__);
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr) return null_pointer(__func__);
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}
}
