// SPDX-License-Identifier: Apache-2.0
//
// Driver API: how many blocks and clusters fit.
//
// Context:  application threads
// Owns:     nothing
// Promises: agrees with the occupancy the timing model uses
// Not here: the arithmetic (core/device_model.cpp)
#include <algorithm>

#include "core/work/kernels.hpp"
#include "cuda/api.hpp"

using namespace gpusim;

namespace {

constexpr int kLargestPortableCluster = 8;

/// Function and device of a query; `model` is null if either is missing.
struct Query {
  const Function* function;
  const DeviceModel* model;
};

Query query(CUfunction handle) {
  auto* f = reinterpret_cast<Function*>(handle);
  const Context* c = current_context();
  return {live(f) ? f : nullptr, live(f) && c != nullptr ? &c->device->model : nullptr};
}

int blocks_per_sm(int* out, CUfunction func, int block, std::size_t dynamic) {
  const Query q = query(func);
  if (out == nullptr || q.model == nullptr || block <= 0) return CUDA_ERROR_INVALID_VALUE;
  *out =
      block > q.function->max_threads ? 0 : resident_blocks(*q.function, *q.model, block, dynamic);
  return CUDA_SUCCESS;
}

struct BlockSearch {
  CUoccupancyB2DSize dynamic_for;
  std::size_t dynamic;
  int limit;
};

/// The block size with most resident threads; the largest of equals, as the real driver prefers.
int best_block(int* grid, int* block, CUfunction func, const BlockSearch& s) {
  const Query q = query(func);
  if (grid == nullptr || block == nullptr || q.model == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int largest =
      s.limit > 0 ? std::min(s.limit, q.function->max_threads) : q.function->max_threads;
  int most = 0;
  *grid = *block = 0;
  for (int threads = largest / 32 * 32; threads >= 32; threads -= 32) {
    const std::size_t dynamic = s.dynamic_for != nullptr ? s.dynamic_for(threads) : s.dynamic;
    const int blocks = resident_blocks(*q.function, *q.model, threads, dynamic);
    if (blocks * threads <= most) continue;
    most = blocks * threads;
    *block = threads;
    *grid = blocks * q.model->sm_count;
  }
  return CUDA_SUCCESS;
}

int cluster_blocks(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& d = config.attrs[i].value.clusterDim;
      return static_cast<int>(std::max(1u, d.x * d.y * d.z));
    }
  return 1;
}

int active_clusters(int* out, CUfunction func, const CUlaunchConfig* config) {
  const Query q = query(func);
  if (out == nullptr || config == nullptr || q.model == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
  int blocks = 0;
  const int result = blocks_per_sm(&blocks, func, threads, config->sharedMemBytes);
  if (result == CUDA_SUCCESS) *out = blocks * q.model->sm_count / cluster_blocks(*config);
  return result;
}

int free_smem(std::size_t* out, CUfunction func, int blocks, int threads) {
  const Query q = query(func);
  if (out == nullptr || q.model == nullptr || blocks <= 0 || threads <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int each = q.model->smem_per_sm / blocks - q.model->reserved_smem_per_block -
                   static_cast<int>(q.function->static_smem);
  *out = static_cast<std::size_t>(std::clamp(each, 0, q.model->smem_per_block_optin));
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func,
                                                             int blockSize,
                                                             size_t dynamicSMemSize) {
  GPUSIM_DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks, func, blockSize,
                    dynamicSMemSize);
  return GPUSIM_DONE(blocks_per_sm(numBlocks, func, blockSize, dynamicSMemSize));
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
  GPUSIM_DRIVER_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, numBlocks, func,
                    blockSize, dynamicSMemSize, flags);
  return GPUSIM_DONE(blocks_per_sm(numBlocks, func, blockSize, dynamicSMemSize));
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                                  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                  size_t dynamicSMemSize, int blockSizeLimit) {
  GPUSIM_DRIVER_API(cuOccupancyMaxPotentialBlockSize, minGridSize, blockSize, func,
                    blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
  return GPUSIM_DONE(best_block(minGridSize, blockSize, func,
                                {blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit}));
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int* minGridSize, int* blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags) {
  GPUSIM_DRIVER_API(cuOccupancyMaxPotentialBlockSizeWithFlags, minGridSize, blockSize, func,
                    blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, flags);
  return GPUSIM_DONE(best_block(minGridSize, blockSize, func,
                                {blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit}));
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func,
                                                         int numBlocks, int blockSize) {
  GPUSIM_DRIVER_API(cuOccupancyAvailableDynamicSMemPerBlock, dynamicSmemSize, func, numBlocks,
                    blockSize);
  return GPUSIM_DONE(free_smem(dynamicSmemSize, func, numBlocks, blockSize));
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func,
                                                    const CUlaunchConfig* config) {
  GPUSIM_DRIVER_API(cuOccupancyMaxPotentialClusterSize, clusterSize, func, config);
  const Query q = query(func);
  if (clusterSize == nullptr || config == nullptr || q.model == nullptr)
    return GPUSIM_DONE(CUDA_ERROR_INVALID_VALUE);
  *clusterSize = q.model->cc_major >= 9 ? kLargestPortableCluster : 1;
  return GPUSIM_DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func,
                                              const CUlaunchConfig* config) {
  GPUSIM_DRIVER_API(cuOccupancyMaxActiveClusters, numClusters, func, config);
  return GPUSIM_DONE(active_clusters(numClusters, func, config));
}

}  // extern "C"
