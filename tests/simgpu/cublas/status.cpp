// SPDX-License-Identifier: Apache-2.0
//
// Status names.
//
// Context:  any
// Owns:     nothing
// Promises: never null
// Not here: who returns them
#include "cublas/handle.hpp"

namespace gpusim {
namespace {

struct StatusText {
  cublasStatus_t status;
  const char* name;
  const char* text;
};

constexpr StatusText kStatusTexts[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "no error"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the handle or the device is not ready"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "no memory for the handle"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an argument is out of range"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "this device generation cannot do that"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory could not be reached"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "a kernel could not be launched"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "internal error"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "not implemented"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "no license"},
};

const StatusText* find(cublasStatus_t status) {
  for (const StatusText& row : kStatusTexts)
    if (row.status == status) return &row;
  return nullptr;
}

}  // namespace

const char* status_name(cublasStatus_t status) {
  const StatusText* row = find(status);
  return row != nullptr ? row->name : "CUBLAS_STATUS_UNKNOWN";
}

const char* status_text(cublasStatus_t status) {
  const StatusText* row = find(status);
  return row != nullptr ? row->text : "unknown status of the simulated GPU (gpuprof)";
}

}  // namespace gpusim
