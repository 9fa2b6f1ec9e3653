// SPDX-License-Identifier: Apache-2.0
//
// NCCL API: versions, error texts, memory, registration, reductions of one's own.
//
// Context:  application threads
// Owns:     nothing
// Promises: every text says that it comes from the simulated GPU
// Not here: communicators and collectives
#include <cstring>

#include "core/handles.hpp"
#include "core/memory/memory.hpp"
#include "nccl/communicator.hpp"

using namespace gpusim;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return fail(nullptr, ncclInvalidArgument, "no place for the version");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error of the simulated GPU (gpuprof)";
    case ncclUnhandledCudaError:
      return "CUDA call failed inside NCCL of the simulated GPU (gpuprof)";
    case ncclSystemError:
      return "system error in NCCL of the simulated GPU (gpuprof)";
    case ncclInternalError:
      return "internal error in NCCL of the simulated GPU (gpuprof)";
    case ncclInvalidArgument:
      return "invalid argument to NCCL of the simulated GPU (gpuprof)";
    case ncclInvalidUsage:
      return "invalid use, or a function that NCCL of the simulated GPU (gpuprof) lacks";
    case ncclRemoteError:
      return "another rank ended or failed, says NCCL of the simulated GPU (gpuprof)";
    case ncclInProgress:
      return "operation in progress in NCCL of the simulated GPU (gpuprof)";
    case ncclTimeout:
      return "timeout in NCCL of the simulated GPU (gpuprof)";
    default:
      return "unknown result code of the simulated GPU (gpuprof)";
  }
}

const char* ncclGetLastError(ncclComm_t comm) { return last_error(live(comm) ? comm : nullptr); }

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  if (ptr == nullptr) return fail(nullptr, ncclInvalidArgument, "no place for the address");
  if (const ncclResult_t r = check_driver(); r != ncclSuccess) return r;
  Context* context = runtime_context();
  std::uintptr_t address = 0;
  if (context == nullptr || allocate(context, kDeviceMemory, size, &address) != 0)
    return fail(nullptr, ncclUnhandledCudaError, "out of device memory");
  *ptr = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* ptr) {
  if (const ncclResult_t r = check_driver(); r != ncclSuccess) return r;
  return release(reinterpret_cast<std::uintptr_t>(ptr)) == 0
             ? ncclSuccess
             : fail(nullptr, ncclInvalidArgument, "not memory of ncclMemAlloc");
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle) {
  static_cast<void>(size);
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  if (handle != nullptr) *handle = buff;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) {
  static_cast<void>(handle);
  return check(comm);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  if (op == nullptr || scalar == nullptr || datatype < 0 || datatype >= ncclNumTypes)
    return fail(comm, ncclInvalidArgument, "a reduction needs a factor and its type");
  UserReduction own{true, {}, nullptr};
  if (residence == ncclScalarDevice)
    own.factor_at = scalar;
  else
    std::memcpy(own.factor, scalar, size_of(static_cast<Number>(datatype)));
  *op = static_cast<ncclRedOp_t>(ncclNumOps + static_cast<int>(comm->reductions.size()));
  comm->reductions.push_back(own);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (const ncclResult_t r = check(comm); r != ncclSuccess) return r;
  const auto index = static_cast<std::size_t>(static_cast<int>(op) - ncclNumOps);
  if (static_cast<int>(op) < ncclNumOps || index >= comm->reductions.size())
    return fail(comm, ncclInvalidArgument, "not a reduction of this communicator");
  comm->reductions[index].live = false;
  return ncclSuccess;
}

}  // extern "C"
