// SPDX-License-Identifier: Apache-2.0
//
// What an operator costs the thread that runs it, in instructions of ours: those of a fake libtorch
// do not count.
#include "tests/fakes/instructions.hpp"
#include "tests/unit/torch/observer_fixture.hpp"

namespace gpuprof {
namespace {

class Operators : public testing::Test {
 protected:
  std::uint64_t of_an_operator(torch::ObserveMode wanted, std::uint32_t bits,
                               std::uint32_t detail) {
    observed_.on(wanted, bits, detail);
    copy_.learn();
    const std::vector<tests::FakeValue> inputs = {copy_.tensor({4, 3}), copy_.tensor({3, 5})};
    std::byte object[1024];
    const auto run = [&](int times) {
      for (int i = 0; i < times; ++i) {
        copy_.torch().begin(object, {"aten::mm", -1, &inputs});
        copy_.torch().end(object);
      }
    };
    run(8);
    const auto each = fakes::instructions_each(run);
    if (each) std::printf("%lu instructions an operator\n", static_cast<unsigned long>(*each));
    return each.value_or(0);
  }

  tests::Copy copy_{"torch-2.15"};
  tests::Observed observed_;
};

TEST_F(Operators, Names) {
  EXPECT_LE(of_an_operator(torch::ObserveMode::kOperators, hot::kOnOperators, 0), 2600u);
}

TEST_F(Operators, NamesAndShapes) {
  EXPECT_LE(of_an_operator(torch::ObserveMode::kOperators, hot::kOnOperators, wire::kTorchShapes),
            3200u);
}

TEST_F(Operators, OnlyCounted) {
  EXPECT_LE(of_an_operator(torch::ObserveMode::kSteps, hot::kOnOpSteps, 0), 2500u);
}

}  // namespace
}  // namespace gpuprof
