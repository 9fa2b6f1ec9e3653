// SPDX-License-Identifier: Apache-2.0
//
// An interpreter loaded late and privately (RTLD_LOCAL): found, read in a handler, read while
// blocked, in a sub-interpreter, after its end.
//
// usage: python_embed_test LIBPYTHON PYTHONHOME
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <map>
#include <string>
#include <thread>

#include "gpuprof/base/clock.hpp"
#include "inject/python/frames/frames.hpp"
#include "tests/fakes/in_process_segment.hpp"

namespace gpuprof {
namespace {

std::string g_library, g_home;
constexpr int kSignal = 40;

python::ReadResult g_read;
wire::PyFrame g_frames[wire::kMaxPythonFrames];
volatile sig_atomic_t g_handled = 0;

void on_signal(int) {
  const hot::Guard guard(hot::RingRole::kSignal);
  g_read =
      guard ? python::read_current_frames(guard, g_frames, wire::kMaxPythonFrames, base::mono_ns())
            : python::ReadResult{};
  g_handled = g_handled + 1;
}

constexpr char kAsk[] = R"(
import signal, threading
def inner():
    signal.pthread_kill(threading.get_ident(), 40)
class Holder:
    def outer(self):
        inner()
Holder().outer()
)";

constexpr char kBlock[] = R"(
import os, threading, time
started = threading.Event()
ends = os.pipe()
def waits():
    os.environ['BLOCKED_TID'] = str(threading.get_native_id())
    started.set()
    os.read(ends[0], 1)
def calls_waits():
    waits()
thread = threading.Thread(target=calls_waits)
thread.start()
started.wait()
)";

class Embed : public testing::Test {
 protected:
  template <typename F>
  F* function(const char* name) {
    return reinterpret_cast<F*>(dlsym(library_, name));
  }
  void run(const char* code) {
    EXPECT_EQ(function<int(const char*, void*)>("PyRun_SimpleStringFlags")(code, nullptr), 0);
  }

  /// Names of the frames, innermost first, without what stands in front of the last dot.
  std::string names(const python::ReadResult& read, const wire::PyFrame* frames) {
    std::map<std::uint64_t, std::string> known;
    for (const auto& [def, tail, tid] : segment_.all<wire::PyCodeDef>())
      known[def.id] = tail.substr(def.file_bytes, def.name_bytes);
    std::string text;
    for (std::uint32_t i = 0; i < read.count; ++i)
      if (frames[i].code_id != 0) {
        const std::string& name = known[frames[i].code_id];
        text += name.substr(name.rfind('.') + 1) + " ";
      }
    return text;
  }
  std::string asked(const char* code) {
    const sig_atomic_t before = g_handled;
    run(code);
    EXPECT_EQ(g_handled, before + 1);
    EXPECT_EQ(g_read.flags, 0u);
    return names(g_read, g_frames);
  }

  /// Of a thread that does not run.
  std::string names_of(pid_t tid) {
    const hot::Guard guard(hot::RingRole::kCallback);
    wire::PyFrame frames[wire::kMaxPythonFrames];
    const python::ReadResult read =
        python::read_remote_frames(guard, tid, frames, wire::kMaxPythonFrames, base::mono_ns());
    return read.flags == 0 ? names(read, frames) : "flags " + std::to_string(read.flags);
  }

  fakes::InProcessSegment segment_;
  void* library_ = nullptr;
};

TEST_F(Embed, InterpreterThatComesLate) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(kSignal, &action, nullptr);
  EXPECT_FALSE(python::find_runtime());
  EXPECT_FALSE(python::ready());
  raise(kSignal);
  EXPECT_EQ(g_read.count, 0u);

  library_ = dlopen(g_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library_, nullptr) << dlerror();
  EXPECT_FALSE(python::find_runtime()) << "mapped, not yet initialised";
  EXPECT_TRUE(python::is_runtime_pending());
  EXPECT_FALSE(python::ready());
  raise(kSignal);
  EXPECT_EQ(g_read.count, 0u);
  dlclose(library_);
  EXPECT_EQ(dlopen(g_library.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "we kept it";
  EXPECT_FALSE(python::find_runtime());
  EXPECT_FALSE(python::is_runtime_pending());

  library_ = dlopen(g_library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library_, nullptr) << dlerror();
  setenv("PYTHONHOME", g_home.c_str(), 1);
  function<void(int)>("Py_InitializeEx")(0);
  EXPECT_TRUE(python::find_runtime());
  EXPECT_FALSE(python::is_runtime_pending());
  EXPECT_TRUE(python::ready());
  EXPECT_EQ(fakes::g_facts["python.library"], g_library);
  EXPECT_TRUE(fakes::g_notices.empty());
  EXPECT_EQ(asked(kAsk), "inner outer <module> ");

  std::thread([] { raise(kSignal); }).join();
  EXPECT_EQ(g_read.count, 0u) << "a thread without Python state";

  run(kBlock);
  const pid_t tid = atoi(getenv("BLOCKED_TID"));
  const std::string waits = "waits calls_waits run _bootstrap_inner _bootstrap ";
  // It may still be on its way there: it needs the interpreter's lock, which we hold, for that.
  for (int i = 0; i < 600 && names_of(tid) != waits; ++i) run("time.sleep(0.1)");
  EXPECT_EQ(names_of(tid), waits);
  {
    const hot::Guard guard(hot::RingRole::kCallback);
    wire::PyFrame frames[4];
    EXPECT_EQ(python::read_remote_frames(guard, 1, frames, 4, base::mono_ns()).count, 0u);
  }

  void* main_state = function<void*()>("PyThreadState_Get")();
  void* sub_state = function<void*()>("Py_NewInterpreter")();
  ASSERT_NE(sub_state, nullptr);
  EXPECT_EQ(asked(kAsk), "inner outer <module> ") << "in a sub-interpreter";
  function<void(void*)>("Py_EndInterpreter")(sub_state);
  function<void*(void*)>("PyThreadState_Swap")(main_state);
  EXPECT_EQ(asked(kAsk), "inner outer <module> ");

  run("os.write(ends[1], b'x'); thread.join()");
  EXPECT_EQ(function<int()>("Py_FinalizeEx")(), 0);
  raise(kSignal);
  EXPECT_EQ(g_read.count, 0u) << "after the end";
}

}  // namespace
}  // namespace gpuprof

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  gpuprof::g_library = argv[1];
  gpuprof::g_home = argv[2];
  return RUN_ALL_TESTS();
}
