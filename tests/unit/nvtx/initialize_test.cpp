// SPDX-License-Identifier: Apache-2.0
//
// Tables of other versions of the NVTX header, and of none.
//
// Context:  tests
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "inject/nvtx/nvtx.hpp"
#include "inject/nvtx/nvtx_types.hpp"

namespace gpuprof::nvtx {
namespace {

NvtxFunctionPointer g_functions[32];
NvtxFunctionPointer* g_table[32];
unsigned g_table_size = 0;
int g_answer = 1;

int get_module(NvtxCallbackModule module, NvtxFunctionTable* table, unsigned* size) {
  if (module != NVTX_CB_MODULE_CORE) return 0;
  *table = g_table;
  *size = g_table_size;
  return g_answer;
}
const void* get_export_table(std::uint32_t id) {
  static const NvtxExportTableCallbacks callbacks{sizeof(NvtxExportTableCallbacks), get_module};
  return id == NVTX_ETID_CALLBACKS ? &callbacks : nullptr;
}
const void* no_export_table(std::uint32_t) { return nullptr; }

class NvtxAttach : public ::testing::Test {
 protected:
  void SetUp() override {
    g_answer = 1;
    for (int i = 0; i < 32; ++i) {
      g_functions[i] = nullptr;
      g_table[i] = &g_functions[i];
    }
  }
};

TEST_F(NvtxAttach, FillsOnlyWhatATableHolds) {
  g_table_size = NVTX_CBID_CORE_RangePop;  // an older header without the last ones
  EXPECT_EQ(initialize(reinterpret_cast<void*>(get_export_table)), 1);
  EXPECT_NE(g_functions[NVTX_CBID_CORE_MarkA], nullptr);
  EXPECT_EQ(g_functions[NVTX_CBID_CORE_RangePop], nullptr);
  EXPECT_TRUE(is_in_use());
}

TEST_F(NvtxAttach, SkipsPlacesTheHeaderLeavesEmpty) {
  g_table_size = NVTX_CBID_CORE_SIZE;
  g_table[NVTX_CBID_CORE_MarkA] = nullptr;
  EXPECT_EQ(initialize(reinterpret_cast<void*>(get_export_table)), 1);
  EXPECT_NE(g_functions[NVTX_CBID_CORE_RangePop], nullptr);
}

TEST_F(NvtxAttach, RefusesTablesItCannotUse) {
  EXPECT_EQ(initialize(nullptr), 0);
  EXPECT_EQ(initialize(reinterpret_cast<void*>(no_export_table)), 0);
  g_answer = 0;
  EXPECT_EQ(initialize(reinterpret_cast<void*>(get_export_table)), 0);
}

TEST_F(NvtxAttach, ServesManyCopiesAtOnce) {
  g_table_size = NVTX_CBID_CORE_SIZE;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 200; ++n)
        EXPECT_EQ(initialize(reinterpret_cast<void*>(get_export_table)), 1);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace gpuprof::nvtx
