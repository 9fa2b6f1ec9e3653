// SPDX-License-Identifier: Apache-2.0
//
// Kernels, copies, calls, ranges and waits.
#include "analysis/report/aggregation/gpu_tables.hpp"
#include "analysis/report/output/tables.hpp"
#include "analysis/report/timeline/name_heuristics.hpp"

#include "tests/unit/report/report_fixture.hpp"

namespace gpuprof::report {
namespace {

using test::ReportTest;

class GpuTablesTest : public ReportTest {};

TEST_F(GpuTablesTest, KernelsOfOneShapeAndOwnerAreOneRow) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "gemm"});
    to.on(model::StringDef{2, "aten::mm"});
    to.on(op(1, 2, 0, 100));
    for (std::uint64_t i = 0; i < 4; ++i) {
      model::Kernel k = kernel(0, 10 + i * 20, 11 + i * 22, i < 3 ? 1 : 0);
      k.name = 1;
      k.grid = {i == 2 ? 8u : 4u, 1, 1};
      to.on(k);
    }
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(3u, a.gpu.kernels.size()) << "one of another shape, one of nobody";
  ASSERT_EQ(1u, a.gpu.kernel_names.size());
  const DurationStats& all = a.gpu.kernel_names[0].time;
  EXPECT_EQ(4u, all.count);
  EXPECT_EQ(16'000u, all.total_ns);
  EXPECT_EQ(1'000u, all.min_ns);
  EXPECT_EQ(7'000u, all.max_ns);
  EXPECT_DOUBLE_EQ(4'000, all.p50_ns);
  EXPECT_DOUBLE_EQ(4'000, all.mean_ns);
  EXPECT_EQ(4u, a.gpu.tiny_kernels);
  EXPECT_EQ("aten::mm", a.gpu.kernels[1].owner);
}

TEST_F(GpuTablesTest, ACopyWhoseCallReturnsAfterItHasBlocked) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "cudaMemcpyAsync"});
    to.on(model::StringDef{2, "aten::_local_scalar_dense"});
    to.on(model::StringDef{3, "aten::item"});
    const auto copy = [&](std::uint32_t correlation, std::uint64_t at, std::uint64_t until,
                          std::uint8_t from_memory) {
      model::ApiCall c = call(correlation, at, until, 2);
      c.name = 1;
      to.on(c);
      model::MemCopy m{};
      m.start_ns = kStart + (at + 10) * 1000;
      m.end_ns = m.start_ns + 20'000;
      m.bytes = 40'000;
      m.range = 2;
      m.correlation = correlation;
      m.copy_kind = 2;
      m.src_kind = 3;
      m.dst_kind = from_memory;
      to.on(m);
    };
    to.on(step(0, 0, 400));
    copy(1, 20, 60, 1);
    copy(2, 100, 105, 2);
    to.on(child(op(2, 2, 15, 150), 1));
    to.on(op(1, 3, 10, 160));
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(2u, a.gpu.copies.size());
  const CopyRow& pageable = a.gpu.copies[a.gpu.copies[0].pageable ? 0 : 1];
  const CopyRow& pinned = a.gpu.copies[a.gpu.copies[0].pageable ? 1 : 0];
  EXPECT_EQ(1u, pageable.blocking_calls);
  EXPECT_EQ(40'000u, pageable.blocking_ns);
  EXPECT_DOUBLE_EQ(2.0, pageable.gigabytes_per_s);
  EXPECT_EQ(0u, pinned.blocking_calls);
  ASSERT_EQ(1u, a.gpu.waits.size());
  EXPECT_EQ("aten::item", a.gpu.waits[0].outer);
  EXPECT_EQ("aten::_local_scalar_dense", a.gpu.waits[0].owner);
  EXPECT_EQ(40'000u, a.gpu.waits[0].time.total_ns);
  EXPECT_EQ(1u, a.gpu.waits[0].steps);
}

TEST_F(GpuTablesTest, ARateIsOfCopiesWhoseBytesAreKnown) {
  record([](model::EventSink& to) {
    for (const std::uint32_t device : {0u, 1u})
      for (std::uint64_t i = 0; i < 3; ++i) {
        model::MemCopy m{};
        m.start_ns = kStart + i * 20'000;
        m.end_ns = m.start_ns + 10'000;
        m.copy_kind = device == 0 ? 1 : 2;
        m.bytes = device == 0 && i != 0 ? 40'000 : 0;
        to.on(m);
      }
  });
  ProcessReport a = analysis();
  const Table table = memcpy_table(a, {});
  const auto cell = [&](std::size_t row, const char* key) {
    const std::size_t at = find_column(table, key).take();
    return format_cell(table.rows.at(row).at(at), table.columns[at].unit);
  };
  ASSERT_EQ(2u, table.rows.size());
  const std::size_t known = cell(0, "bytes").empty() ? 1 : 0;
  EXPECT_EQ("4.00", cell(known, "gb_per_s"));
  EXPECT_EQ("", cell(1 - known, "bytes"));
  EXPECT_EQ("", cell(1 - known, "gb_per_s"));
}

TEST_F(GpuTablesTest, CollectivesWithoutAHostCallAreKnownByTheirKernels) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "nccl:all_reduce"});
    to.on(model::StringDef{2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"});
    to.on(model::StringDef{3, "gemm"});
    to.on(op(1, 1, 10, 20));
    const std::pair<model::StringId, model::RangeId> kernels[] = {{2, 1}, {2, 0}, {2, 0}, {3, 0}};
    std::uint64_t at = 100;
    for (const auto& [name, owner] : kernels) {
      model::Kernel k = kernel(0, at, at + 30, owner);
      k.name = name;
      to.on(k);
      at += 50;
    }
  });
  ProcessReport a = analysis();
  ASSERT_EQ(2u, a.gpu.collectives.size());
  const CollectiveRow& alone = a.gpu.collectives[0];
  EXPECT_EQ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", alone.name);
  EXPECT_EQ(2u, alone.device.count);
  EXPECT_EQ(60'000u, alone.device.total_ns);
  EXPECT_EQ("nccl:all_reduce", a.gpu.collectives[1].name);
  EXPECT_EQ(1u, a.gpu.collectives[1].device.count);
  const Table table = nccl_table(a, {});
  for (const char* key : {"calls", "host_ns", "bytes"}) {
    const std::size_t at = find_column(table, key).take();
    EXPECT_EQ("", format_cell(table.rows[0].at(at), table.columns[at].unit)) << key;
    EXPECT_NE("", format_cell(table.rows[1].at(at), table.columns[at].unit)) << key;
  }
}

TEST_F(GpuTablesTest, IdleTimeBeforeLateLaunchesIsToldApart) {
  record([](model::EventSink& to) {
    to.on(call(1, 10, 15));
    to.on(call(2, 12, 17));
    to.on(call(3, 100, 105));
    to.on(kernel(1, 20, 40));
    to.on(kernel(2, 50, 60));    // launched long before: not the host's fault
    to.on(kernel(3, 110, 120));  // the GPU had nothing from 60 on, the call came at 100
  });
  EXPECT_EQ(45'000u, analysis().gpu.launch_gap_ns);
}

TEST_F(GpuTablesTest, IdleTimeInWhichTheHostPausesOrLoadsIsNoWaitForALaunch) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "aten::mm"});
    to.on(model::StringDef{2, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"});
    to.on(model::StringDef{3, "aten::stack"});
    to.on(call(1, 10, 15));
    to.on(kernel(1, 20, 40));
    to.on(child(op(1, 1, 5, 60), 0));  // until here from 40 on: 20
    // 300 us nothing: a sleep.
    model::Operator loading = op(2, 2, 360, 500);
    loading.scope = model::kScopeUser;
    to.on(child(op(3, 3, 370, 490), 2));
    to.on(loading);
    to.on(call(2, 540, 545));
    to.on(op(4, 1, 510, 560));  // from 500 on: 60
    to.on(kernel(2, 560, 570));
    to.on(step(0, 0, 1000));
    to.on(call(3, 1200, 1210));  // in no step
    to.on(kernel(3, 1220, 1230));
  });
  EXPECT_EQ(80'000u, analysis().gpu.launch_gap_ns);
}

TEST_F(GpuTablesTest, RangesTellTheirOwnAndTheirGpuTime) {
  record([](model::EventSink& to) {
    to.on(model::StringDef{1, "epoch"});
    to.on(model::StringDef{2, "aten::mm"});
    to.on(model::Domain{5, "mine"});
    to.on(child(op(2, 2, 20, 60), 1));
    model::Range epoch = range(1, 10, 100);
    epoch.name = 1;
    epoch.domain = 5;
    to.on(epoch);
    to.on(kernel(0, 30, 90, 2));
  });
  const ProcessReport a = analysis();
  ASSERT_EQ(1u, a.gpu.ranges.size());
  EXPECT_EQ("mine", a.gpu.ranges[0].domain);
  EXPECT_EQ(50'000, a.gpu.ranges[0].self_cpu_ns);
  EXPECT_EQ(60'000, a.gpu.ranges[0].device_ns);
}

TEST(GpuNames, TellWhatWaitsAndWhatUsesTensorCores) {
  EXPECT_TRUE(is_blocking_call("cudaStreamSynchronize"));
  EXPECT_TRUE(is_blocking_call("cuMemcpyDtoH_v2"));
  EXPECT_FALSE(is_blocking_call("cudaMemcpyAsync"));
  EXPECT_FALSE(is_blocking_call("cuMemcpyHtoDAsync_v2"));
  EXPECT_FALSE(is_blocking_call("cudaLaunchKernel"));
  EXPECT_TRUE(is_blocking_call("hipDeviceSynchronize"));
  EXPECT_TRUE(is_blocking_call("hipMemcpyWithStream"));
  EXPECT_FALSE(is_blocking_call("hipMemcpyAsync"));
  EXPECT_TRUE(is_blocking_call("zeEventHostSynchronize"));
  EXPECT_TRUE(is_blocking_call("AscendCL@aclrtSynchronizeStreamWithTimeout"));
  EXPECT_FALSE(is_blocking_call("zeCommandListAppendBarrier"));
  EXPECT_TRUE(is_collective_kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
  EXPECT_TRUE(is_collective_kernel("hcom_allReduce__303_0_1"));
  EXPECT_FALSE(is_collective_kernel("softmax_warp_forward"));
  EXPECT_TRUE(uses_tensor_cores("sm80_xmma_gemm_f32f32_tn_n"));
  EXPECT_FALSE(uses_tensor_cores("vectorized_elementwise_kernel"));
  EXPECT_TRUE(is_tensor_core_eligible("aten::addmm"));
  EXPECT_FALSE(is_tensor_core_eligible("aten::add"));
}

}  // namespace
}  // namespace gpuprof::report
