// SPDX-License-Identifier: Apache-2.0
//
// The driver fake, called as programs call it.
//
// Context:  tests
// Owns:     one context for all tests
// Promises: one device of 64 MiB, data policy "copy"
// Not here: times and records (the other tests of the simulated GPU), refusals (stand_in/)
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <vector>

namespace {

constexpr std::size_t kGranule = 2u << 20;
constexpr std::size_t kDeviceBytes = 64u << 20;

class Driver : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("GPUSIM_DEVICES", "2", 1);
    setenv("GPUSIM_MEMORY", std::to_string(kDeviceBytes).c_str(), 1);
    setenv("GPUSIM_QUIET", "1", 1);
    setenv("GPUSIM_TRUTH", truth().c_str(), 1);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  static std::string truth() { return ::testing::TempDir() + "gpusim-driver-test.jsonl"; }
  static std::size_t free_bytes() {
    std::size_t free = 0, total = 0;
    cuMemGetInfo(&free, &total);
    return free;
  }
  static void* address_of(const char* symbol, int version, cuuint64_t flags = 0) {
    void* found = nullptr;
    cuGetProcAddress(symbol, &found, version, flags, nullptr);
    return found;
  }
  static CUmemAllocationProp on_device() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return prop;
  }
};

TEST_F(Driver, LooksUpFunctionsByVersion) {
  EXPECT_EQ(address_of("cuStreamGetCtx", 12000), dlsym(RTLD_DEFAULT, "cuStreamGetCtx"));
  EXPECT_EQ(address_of("cuStreamGetCtx", 13000), dlsym(RTLD_DEFAULT, "cuStreamGetCtx_v2"));
  EXPECT_EQ(address_of("cuMemAlloc", 12000), dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
  EXPECT_EQ(address_of("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
            dlsym(RTLD_DEFAULT, "cuLaunchKernel_ptsz"));
  EXPECT_NE(address_of("cuLogsRegisterCallback", 13000), nullptr);
}

TEST_F(Driver, SaysWhyAFunctionIsNotFound) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult why{};
  EXPECT_EQ(cuGetProcAddress("cuGreenCtxCreate", &found, 11000, 0, &why), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(why, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(cuGetProcAddress("cuNoSuchThing", &found, 13000, 0, &why), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(why, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

TEST_F(Driver, ReportsTwinsUnderTheirOwnName) {
  using Synchronize = CUresult (*)(CUstream);
  const auto twin = reinterpret_cast<Synchronize>(
      address_of("cuStreamSynchronize", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
  ASSERT_NE(twin, nullptr);
  EXPECT_EQ(twin(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  std::ostringstream log;
  log << std::ifstream(truth()).rdbuf();
  EXPECT_NE(log.str().find("\"name\":\"cuStreamSynchronize_ptsz\""), std::string::npos);
  EXPECT_NE(log.str().find("\"name\":\"cuStreamSynchronize\""), std::string::npos);
}

TEST_F(Driver, MapsMemoryIntoReservedRanges) {
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle memory = 0;
  const CUmemAllocationProp prop = on_device();
  CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const std::size_t before = free_bytes();
  ASSERT_EQ(cuMemAddressReserve(&range, 4 * kGranule, 0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  ASSERT_EQ(cuMemCreate(&memory, kGranule, &prop, 0), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - kGranule);
  const CUdeviceptr place = range + kGranule;
  ASSERT_EQ(cuMemMap(place, kGranule, 0, memory, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(place, kGranule, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuMemSetAccess(place, kGranule, &access, 1), CUDA_SUCCESS);
  int in = 4711, out = 0;
  EXPECT_EQ(cuMemcpyHtoD(place, &in, sizeof in), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&out, place, sizeof out), CUDA_SUCCESS);
  EXPECT_EQ(out, in);
  EXPECT_EQ(cuMemAddressFree(range, 4 * kGranule), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - kGranule);
  EXPECT_EQ(cuMemUnmap(place, kGranule), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuMemcpyHtoD(place, &in, sizeof in), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(range, 4 * kGranule), CUDA_SUCCESS);
}

TEST_F(Driver, RefusesToCreateMoreThanThereIsAndWhatCouldBeShared) {
  CUmemGenericAllocationHandle memory = 0;
  CUmemAllocationProp prop = on_device();
  EXPECT_EQ(cuMemCreate(&memory, kDeviceBytes + kGranule, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemCreate(&memory, kGranule + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
  EXPECT_EQ(cuMemCreate(&memory, kGranule, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Driver, KnowsWhatLiesBehindAnAddress) {
  CUdeviceptr p = 0, host = 0;
  unsigned type = 0;
  int ordinal = -1, local = 0;
  ASSERT_EQ(cuMemAlloc(&p, 1000), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 999), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  EXPECT_EQ(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p),
            CUDA_ERROR_INVALID_VALUE);
  const auto unknown = reinterpret_cast<CUdeviceptr>(&local);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unknown),
            CUDA_ERROR_INVALID_VALUE);
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* data[] = {&type, &ordinal};
  EXPECT_EQ(cuPointerGetAttributes(2, wanted, data, p), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(cuPointerGetAttributes(2, wanted, data, unknown), CUDA_SUCCESS);
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(cuMemGetAddressRange(nullptr, nullptr, p), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(p), CUDA_SUCCESS);
}

TEST_F(Driver, CopiesAndFillsRows) {
  CUdeviceptr p = 0;
  std::size_t pitch = 0;
  ASSERT_EQ(cuMemAllocPitch(&p, &pitch, 12, 3, 4), CUDA_SUCCESS);
  ASSERT_GE(pitch, 12u);
  EXPECT_EQ(cuMemsetD2D16(p, pitch, 0x0102, 6, 3), CUDA_SUCCESS);
  unsigned char out[3][12] = {};
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = p;
  copy.srcPitch = pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = out;
  copy.dstPitch = 12;
  copy.WidthInBytes = 12;
  copy.Height = 3;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
  for (const auto& row : out)
    for (int i = 0; i < 12; ++i) EXPECT_EQ(row[i], i % 2 == 0 ? 2 : 1);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  EXPECT_EQ(cuMemcpy2D(&copy), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuMemFree(p), CUDA_SUCCESS);
}

TEST_F(Driver, RefusesToCopyAndFillMoreThanThereIs) {
  constexpr std::size_t kBytes = 1u << 20, kAll = ~std::size_t{0};
  CUdeviceptr p = 0, other = 0;
  void* pinned = nullptr;
  std::vector<unsigned char> host(kBytes);
  ASSERT_EQ(cuMemAlloc(&p, kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAlloc(&other, 4 * kBytes), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocHost(&pinned, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoD(p, host.data(), kBytes), CUDA_SUCCESS) << "all of it";
  // Allocations may adjoin: what lies 1 GiB on does not.
  for (const std::size_t bytes : {std::size_t{1} << 30, kAll}) {
    EXPECT_EQ(cuMemcpyHtoD(p, host.data(), bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemcpyDtoH(host.data(), p, bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemcpyDtoD(other, p, bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemcpyHtoDAsync(p, pinned, bytes, nullptr), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemcpy(p, other, bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemsetD8(p, 1, bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemsetD32Async(p, 1, bytes, nullptr), CUDA_ERROR_INVALID_VALUE) << bytes;
    EXPECT_EQ(cuMemsetD2D8(p, 4096, 1, 16, bytes), CUDA_ERROR_INVALID_VALUE) << bytes;
    CUdeviceptr none = 0;
    EXPECT_EQ(cuMemAlloc(&none, bytes), CUDA_ERROR_OUT_OF_MEMORY) << bytes;
  }
  EXPECT_EQ(cuMemsetD2D8(p, 8, 1, 16, 2), CUDA_ERROR_INVALID_VALUE) << "rows overlap";
  EXPECT_EQ(cuMemcpy(0, p, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(p, 0, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoD(p, nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostRegister(host.data(), kAll, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(other), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(p), CUDA_SUCCESS);
}

TEST_F(Driver, RefusesNullWhereSomethingMustBe) {
  CUmodule module = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoadData(nullptr, "simulated"), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernelEx(nullptr, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  CUlaunchConfig config{};
  config.numAttrs = 1;
  EXPECT_EQ(cuLaunchKernelEx(&config, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetDevice(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetFlags(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetId(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxGetApiVersion(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetCtx(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetFlags(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetId(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetPriority(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamIsCapturing(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, RegistersHostMemoryOnce) {
  std::vector<char> bytes(4096);
  unsigned type = 0;
  const auto p = reinterpret_cast<CUdeviceptr>(bytes.data());
  ASSERT_EQ(cuMemHostRegister(bytes.data(), bytes.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), CUDA_SUCCESS);
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_HOST});
  EXPECT_EQ(cuMemHostRegister(bytes.data(), bytes.size(), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), CUDA_SUCCESS);
  EXPECT_EQ(cuMemHostUnregister(bytes.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

TEST_F(Driver, GivesModulesKernelsAndVariables) {
  CUmodule module = nullptr;
  CUfunction first = nullptr, again = nullptr;
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuModuleLoad(&module, "/no/such/file.cubin"), CUDA_ERROR_FILE_NOT_FOUND);
  ASSERT_EQ(cuModuleLoadData(&module, "simulated"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&first, module, "first"), CUDA_SUCCESS);
  ASSERT_EQ(cuModuleGetFunction(&again, module, "first"), CUDA_SUCCESS);
  EXPECT_EQ(first, again);
  ASSERT_EQ(cuModuleGetGlobal(&variable, &bytes, module, "counter"), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(variable, 0, bytes), CUDA_SUCCESS);
  int grid = 0, block = 0, blocks = 0, processors = 0;
  EXPECT_EQ(cuOccupancyMaxPotentialBlockSize(&grid, &block, first, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, first, block, 0), CUDA_SUCCESS);
  cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(grid, blocks * processors);
  EXPECT_EQ(cuLaunchKernel(first, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(first, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Driver, RunsHostFunctionsAndCallbacksBeforeAWaitReturns) {
  static std::atomic<int> calls{0};
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(
                stream, [](void* p) { calls += *static_cast<int*>(p); },
                [] {
                  static int one = 1;
                  return &one;
                }()),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamAddCallback(
                stream, [](CUstream, CUresult, void*) { calls += 10; }, nullptr, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(calls.load(), 11);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(Driver, KeepsAttributesOfPools) {
  CUmemoryPool pool = nullptr;
  cuuint64_t threshold = 123456, read = 0;
  CUdeviceptr p = 0;
  ASSERT_EQ(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
            CUDA_SUCCESS);
  EXPECT_EQ(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &read), CUDA_SUCCESS);
  EXPECT_EQ(read, threshold);
  const std::size_t before = free_bytes();
  ASSERT_EQ(cuMemAllocFromPoolAsync(&p, 4096, pool, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - 4096);
  EXPECT_EQ(cuMemFreeAsync(p, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
