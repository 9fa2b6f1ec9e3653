// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/ptrace/phases.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gpuprof::attach {
namespace {

TEST(Steps, EachHasANameOfItsOwn) {
  const std::vector<Phase> steps = all_phases();
  std::set<std::string> names;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(steps[i]), i) << "in order, none left out";
    names.insert(phase_name(steps[i]));
  }
  EXPECT_EQ(static_cast<std::size_t>(Phase::kDetached) + 1, steps.size());
  EXPECT_EQ(names.size(), steps.size());
  EXPECT_EQ(names.count(""), 0U);
}

}  // namespace
}  // namespace gpuprof::attach
