// SPDX-License-Identifier: Apache-2.0
//
// The pure parts of the core: device figures and the hiding of symbols.
//
// Context:  tests
// Owns:     nothing
// Promises: no driver is started here
// Not here: everything that needs a process of its own
#include <gtest/gtest.h>

#include <cuda.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

#include "core/api_scope.hpp"
#include "core/device_model.hpp"
#include "run_support.hpp"
#include "tools/elf_hide.hpp"

namespace {

TEST(DeviceModel, HasTheNumbersOfTheModels) {
  const gpusim::DeviceModel& h100 = gpusim::device_model(gpusim::Model::kH100);
  EXPECT_EQ(gpusim::device_attribute(h100, 0, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 132);
  EXPECT_EQ(gpusim::device_attribute(h100, 0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
  EXPECT_EQ(
      gpusim::device_attribute(h100, 0, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
      232448);
  const gpusim::DeviceModel& v100 = gpusim::device_model(gpusim::Model::kV100);
  EXPECT_EQ(gpusim::device_attribute(v100, 0, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 80);
}

TEST(DeviceModel, UuidsAreMarkedAndDiffer) {
  unsigned char a[16], b[16];
  gpusim::device_uuid(0, a);
  gpusim::device_uuid(1, b);
  EXPECT_EQ(std::memcmp(a, "SIM", 3), 0);
  EXPECT_NE(std::memcmp(a, b, 16), 0);
}

TEST(DeviceModel, OccupancyFollowsTheScarcestResource) {
  const gpusim::DeviceModel& m = gpusim::device_model(gpusim::Model::kA100);
  EXPECT_EQ(gpusim::max_active_blocks(m, 1024, 0, 0), 2);
  EXPECT_EQ(gpusim::max_active_blocks(m, 32, 0, 0), 32);
  EXPECT_EQ(gpusim::max_active_blocks(m, 256, 128, 0), 2);
  EXPECT_EQ(gpusim::max_active_blocks(m, 128, 0, 65536), 2);
  EXPECT_EQ(gpusim::max_active_blocks(m, 2048, 0, 0), 0);
}

TEST(ApiScope, AnInnerCallGivesTheOuterItsIdBack) {
  gpusim::ApiScope outer(gpusim::ApiDomain::kRuntime, 1, "outer", nullptr);
  {
    gpusim::ApiScope inner(gpusim::ApiDomain::kRuntime, 1, "inner", nullptr);
    EXPECT_EQ(gpusim::current_correlation(), inner.correlation());
    EXPECT_NE(inner.correlation(), outer.correlation());
    inner.finish(0);
  }
  EXPECT_EQ(gpusim::current_correlation(), outer.correlation());
  outer.finish(0);
  EXPECT_EQ(gpusim::current_correlation(), 0u);
}

TEST(ElfHide, ChangesOnlyTheNamesAskedFor) {
  const std::string from = simtest::library_folder() + "/gpusim_cupti.so";
  const std::string to = simtest::scratch_path("hidden.so");
  ASSERT_EQ(gpusim::hide_symbols(from, to, {"cuptiFinalize"}, 1), "");
  const auto bytes = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::vector<char>{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  };
  const std::vector<char> a = bytes(from), b = bytes(to);
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(
      std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), std::not_equal_to<>()),
      1);
  EXPECT_NE(gpusim::hide_symbols(from, to, {"notThere"}, 1), "");
  EXPECT_EQ(gpusim::hide_symbols(from, to, {"cuptiFinalize", "notThere"}, 1), "");
}

}  // namespace
