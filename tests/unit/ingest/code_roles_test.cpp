// SPDX-License-Identifier: Apache-2.0
//
// What records tell of a process's place in a job: a worker that only serves, what carries
// communication.
#include <gmock/gmock.h>

#include "tests/unit/ingest/ingest_fixture.hpp"

namespace gpuprof::ingest {
namespace {

using testing::ElementsAre;
using testing::Pair;

class Facts final : public model::IgnoringSink {
 public:
  using model::IgnoringSink::on;
  void on(const model::Fact& e) override {
    facts.emplace_back(std::string(e.key), std::string(e.value));
  }
  std::vector<std::pair<std::string, std::string>> facts;
};

class ProcessPlaceTest : public AssemblerTest {
 protected:
  void runs(const std::string& file, const std::string& function) {
    put(wire::PyCodeDef{++code_, 3, 11, 0, static_cast<std::uint32_t>(file.size()),
                        static_cast<std::uint32_t>(function.size()), 0, 0},
        file + function);
  }
  std::uint64_t code_ = 0;
};

TEST_F(ProcessPlaceTest, AWorkerOfALoaderServes) {
  runs("/v/lib/python3.11/site-packages/torch/utils/data/dataloader.py", "__next__");
  runs("/home/me/worker.py", "_worker_loop");
  runs("/v/site-packages/torch/utils/data/_utils/worker.py", "WorkerInfo.__init__");
  EXPECT_FALSE(assembler_->is_worker_process());
  runs("/v/site-packages/torch/utils/data/_utils/worker.py", "_worker_loop");
  EXPECT_TRUE(assembler_->is_worker_process());
}

TEST_F(ProcessPlaceTest, ACompilersWorkerServes) {
  runs("/v/site-packages/torch/_inductor/compile_worker/__main__.py", "main");
  EXPECT_TRUE(assembler_->is_worker_process());
}

TEST_F(ProcessPlaceTest, NcclIsStatedAlsoBesideGloo) {
  Facts sink;
  Assembler assembler(sink, nullptr);
  std::uint64_t id = 0;
  const auto named = [&](const std::string& text) {
    const wire::StringDef def{++id, static_cast<std::uint32_t>(text.size()), 0};
    assembler.on(RingInfo{0, 100, 1}, def,
                 Tail{reinterpret_cast<const std::byte*>(text.data()), text.size()});
  };
  for (const char* text : {"ncclAllReduce", "gloo", "aten::mm", "gloo:all_reduce", "gloo:broadcast",
                           "nccl:all_reduce", "gloo:gather"})
    named(text);
  EXPECT_THAT(sink.facts, ElementsAre(Pair("distributed.backend", "gloo"),
                                      Pair("distributed.backend", "nccl")));
}

}  // namespace
}  // namespace gpuprof::ingest
