// SPDX-License-Identifier: Apache-2.0
//
// Where graphs were launched.
//
// Context:  tests
#include "inject/cupti/activity/graph_devices.hpp"

#include <gtest/gtest.h>

namespace gpuprof::cupti {
namespace {

TEST(GraphPlaces, AreKnownOfTheLastLaunches) {
  std::uint32_t device = 77, context = 77;
  record_graph_launch(500, 3);
  EXPECT_FALSE(find_graph_device(500, &device, &context)) << "no record of the context yet";
  record_context(3, 1);
  EXPECT_TRUE(find_graph_device(500, &device, &context));
  EXPECT_EQ(device, 1u);
  EXPECT_EQ(context, 3u);
  EXPECT_FALSE(find_graph_device(501, &device, &context));
  for (std::uint32_t later = 501; later < 5000; ++later) record_graph_launch(later, 3);
  EXPECT_FALSE(find_graph_device(500, &device, &context));
}

}  // namespace
}  // namespace gpuprof::cupti
