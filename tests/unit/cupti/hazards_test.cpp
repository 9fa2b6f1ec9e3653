// SPDX-License-Identifier: Apache-2.0
//
// Which release has which fault.
//
// Context:  tests
#include "inject/cupti/library/hazards.hpp"

#include <gtest/gtest.h>

#include "inject/cupti/callbacks/cbids.hpp"
#include "inject/cupti/library/api.hpp"

namespace gpuprof::cupti {
namespace {

TEST(Hazards, KernelRecordsStayOnBelowCuda130Update1) {
  EXPECT_TRUE(has_hazard(28, Hazard::kKernelKindStays));
  EXPECT_TRUE(has_hazard(130000, Hazard::kKernelKindStays));
  EXPECT_FALSE(has_hazard(130001, Hazard::kKernelKindStays));
}

TEST(Hazards, PerThreadBuffersNeedMoreThanAnyCuda126) {
  EXPECT_TRUE(has_hazard(21, Hazard::kPerThreadUnsafe));
  EXPECT_TRUE(has_hazard(24, Hazard::kPerThreadUnsafe)) << "12.6 to 12.6 Update 2 share a number";
  EXPECT_FALSE(has_hazard(26, Hazard::kPerThreadUnsafe));
  EXPECT_FALSE(knows_per_thread_buffers(20));
  EXPECT_TRUE(knows_per_thread_buffers(21));
}

TEST(Hazards, FlushesOfCuda132AreASecondApart) {
  EXPECT_EQ(flush_period_ms(130001, 25), 25u);
  EXPECT_EQ(flush_period_ms(130200, 25), 1000u);
  EXPECT_EQ(flush_period_ms(130200, 2000), 2000u);
  EXPECT_EQ(flush_period_ms(130300, 25), 25u);
}

TEST(Hazards, MajorsOfBothNumberings) {
  EXPECT_EQ(cuda_major_of(13), 11u);
  EXPECT_EQ(cuda_major_of(18), 11u);
  EXPECT_EQ(cuda_major_of(19), 12u);
  EXPECT_EQ(cuda_major_of(28), 12u);
  EXPECT_EQ(cuda_major_of(130001), 13u);
  EXPECT_EQ(cuda_major_of(140000), 14u);
}

TEST(Cbids, AreThoseThatHaveNeverChanged) {
  EXPECT_EQ(kRuntimeTable.of(211), CallClass::kKernel);  // cudaLaunchKernel
  EXPECT_EQ(kRuntimeTable.of(430), CallClass::kKernel);  // cudaLaunchKernelExC
  EXPECT_EQ(kRuntimeTable.of(311), CallClass::kGraph);
  EXPECT_EQ(kRuntimeTable.of(41), CallClass::kTransfer);  // cudaMemcpyAsync
  EXPECT_EQ(kRuntimeTable.of(165), CallClass::kSync);     // cudaDeviceSynchronize
  EXPECT_EQ(kRuntimeTable.of(17), CallClass::kNone);      // cudaGetDevice
  EXPECT_EQ(kDriverTable.of(307), CallClass::kKernel);    // cuLaunchKernel
  EXPECT_EQ(kDriverTable.of(442), CallClass::kKernel);    // cuLaunchKernel_ptsz
  EXPECT_EQ(kDriverTable.of(514), CallClass::kGraph);
  EXPECT_EQ(kDriverTable.of(304), CallClass::kNone);  // cuCtxGetCurrent
  EXPECT_EQ(kDriverTable.of(1u << 20), CallClass::kNone);
}

}  // namespace
}  // namespace gpuprof::cupti
