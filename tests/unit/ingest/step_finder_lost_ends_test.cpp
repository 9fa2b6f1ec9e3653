// SPDX-License-Identifier: Apache-2.0
//
// The last step, and what may have ended in it without the daemon having seen it; damaged code.
#include "tests/unit/ingest/step_fixture.hpp"

namespace gpuprof::ingest {
namespace {

class LastStep : public StepFinderTest {
 protected:
  /// Five steps and a range of the program's own in the last of them, whose end never comes. The
  /// program goes on for a second.
  void run(bool lost) {
    loop(1, 40, 50);
    stack(11, {1});
    for (int i = 0; i < 5; ++i) {
      iterate(1, i == 0 ? wire::kMarkLoopEntry : 0);
      if (i == 4) put(wire::OpBegin{t_, name("round"), 11, 0, -1, 99, ++op_, 0, 0, 7, 1});
      train(11);
    }
    worked_until_ = t_;
    if (lost) put(wire::Lost{1, t_ += kMs, t_});
    pass(kSecond);
    finish();
  }
  std::uint64_t worked_until_ = 0;
};

TEST_F(LastStep, LastsAsLongAsARangeThatIsOpen) {
  run(false);
  ASSERT_EQ(5u, sink_.steps.size());
  EXPECT_EQ(t_, sink_.steps.back().end_ns);
}

TEST_F(LastStep, LastsNoLongerThanARangeIsKnownToBeOpen) {
  run(true);
  ASSERT_EQ(5u, sink_.steps.size());
  EXPECT_GE(sink_.steps.back().end_ns, worked_until_);
  EXPECT_LE(sink_.steps.back().end_ns, worked_until_ + kMs);
}

TEST_F(StepFinderTest, APathThatIsCutShortByDamageIsNotBelieved) {
  loop(1, 40, 50);
  put(wire::PyCodeDef{7, 0, 11, 0, ~0U, 0, 0, 0}, "/venv/torch/_dynamo/utils.py");
  stack(11, {1});
  for (int i = 0; i < 20; ++i) {
    iterate(1, i == 0 ? wire::kMarkLoopEntry : 0);
    train(11, nullptr);
  }
  finish();
  EXPECT_EQ(truth_, begins_of(sink_.steps));
}

}  // namespace
}  // namespace gpuprof::ingest
