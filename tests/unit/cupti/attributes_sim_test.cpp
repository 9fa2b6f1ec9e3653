// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's switches that are one for the process: ours while we record, the program's own where its
// profiler goes on and where we have detached.
//
// Context:  tests
#include <cupti.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "inject/cupti/callback_state.hpp"
#include "inject/cupti/library/hazards.hpp"
#include "inject/cupti/subscribe/cupti_state.hpp"
#include "sim_fixture.hpp"

namespace gpuprof::cupti {
namespace {

constexpr CUpti_ActivityAttribute kZeroed = CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER;
constexpr CUpti_ActivityAttribute kPerThread = CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER;

void CUPTIAPI app_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = 1 << 18;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
}
void CUPTIAPI app_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                            std::size_t) {
  std::free(buffer);
}

class SimSwitches : public SimTest {
 protected:
  void TearDown() override {
    if (const char* path = log_path()) std::remove(path);
  }
  // The program's own copy.
  template <typename F>
  static F in_cupti(const char* name) {
    for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"})
      if (void* found = dlopen(soname, RTLD_NOW | RTLD_LOCAL))
        return reinterpret_cast<F>(dlsym(found, name));
    return nullptr;
  }
  static int value_of(CUpti_ActivityAttribute attribute) {
    std::uint8_t value = 0;
    std::size_t bytes = sizeof value;
    const auto get = in_cupti<decltype(&::cuptiActivityGetAttribute)>("cuptiActivityGetAttribute");
    return get(attribute, &bytes, &value) == CUPTI_SUCCESS ? value : -1;
  }
  static void set(CUpti_ActivityAttribute attribute, std::uint8_t value) {
    std::size_t bytes = sizeof value;
    in_cupti<decltype(&::cuptiActivitySetAttribute)>("cuptiActivitySetAttribute")(attribute, &bytes,
                                                                                  &value);
  }
  static int thread_ids() {
    CUpti_ActivityThreadIdType type = CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE;
    in_cupti<decltype(&::cuptiGetThreadIdType)>("cuptiGetThreadIdType")(&type);
    return type;
  }
  // Nobody can ask CUPTI: the last that it was told. Empty: nothing.
  static std::string waits_asked_for() {
    std::ifstream log(log_path());
    std::string last;
    for (std::string line; std::getline(log, line);)
      if (line.find("cuptiActivityEnableAllSyncRecords") != std::string::npos)
        last = line.substr(line.find("enable="), 8);
    return last;
  }
  static const char* log_path() {
    static std::string s_path = [] {
      const char* path = std::getenv("GPUSIM_LOG");
      std::string text = path != nullptr ? path : "";
      const std::size_t at = text.find("%p");
      if (at != std::string::npos) text.replace(at, 2, std::to_string(getpid()));
      return text;
    }();
    return s_path.empty() ? nullptr : s_path.c_str();
  }
  static void expect_waits(const char* asked) {
    if (g_callback_state.api.cuptiActivityEnableAllSyncRecords == nullptr)
      asked = "";  // an older release
    EXPECT_EQ(waits_asked_for(), asked);
  }
  void expect_ours() {
    EXPECT_EQ(value_of(kZeroed), 1);
    EXPECT_EQ(thread_ids(), CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    expect_waits("enable=0");
  }
  void expect_those_of_the_program(int per_thread) {
    EXPECT_EQ(value_of(kZeroed), 0);
    EXPECT_EQ(thread_ids(), CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
    expect_waits("enable=1");
    EXPECT_EQ(value_of(kPerThread), per_thread);
  }
};

TEST_F(SimSwitches, AreOursWhileWeRecordAndTheProgramsWhereItGoesOn) {
  program();
  set(kPerThread, 0);
  const int per_thread = value_of(kPerThread);  // -1: this release does not know it
  start_recording();
  expect_ours();
  if (!has_hazard(g_callback_state.api.version, Hazard::kPerThreadUnsafe)) {
    EXPECT_EQ(value_of(kPerThread), 1);
  }

  ASSERT_EQ(cuptiActivityRegisterCallbacks(app_requested, app_completed), CUPTI_SUCCESS);
  expect_those_of_the_program(per_thread);
  ASSERT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), CUPTI_SUCCESS);

  ASSERT_TRUE(turn_until([] {
    const CuptiLock lock(kTimeoutMs);
    return g_cupti.recording;
  }));
  expect_ours();
  set_mode(Mode::kOff, settings_);
  release(kTimeoutMs);
  expect_those_of_the_program(per_thread);
}

TEST_F(SimSwitches, ThatTheProgramSetItselfMeanwhileStay) {
  program();
  ASSERT_NE(in_cupti<void*>("cuptiSubscribe"), nullptr);
  start_recording();
  ASSERT_EQ(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), CUPTI_SUCCESS);
  ASSERT_EQ(cuptiActivityRegisterCallbacks(app_requested, app_completed), CUPTI_SUCCESS);
  EXPECT_EQ(thread_ids(), CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  EXPECT_EQ(value_of(kZeroed), 0);
}

}  // namespace
}  // namespace gpuprof::cupti
