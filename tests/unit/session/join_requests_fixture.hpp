// SPDX-License-Identifier: Apache-2.0
//
// Sessions of processes that run already: joined at fake control sockets.
#pragma once

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>

#include "gpuprof/base/unique_fd.hpp"
#include "support/process/procfs.hpp"
#include "tests/fakes/fake_control_socket.hpp"
#include "tests/unit/session/daemon_fixture.hpp"

namespace gpuprof::session {

using fakes::FakeAgent;
using fakes::FakeControlSocket;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::MessageType;
using wire::RingRole;

inline constexpr std::uint64_t kWindowNs = 200'000'000;
inline constexpr int kTimeoutMs = 300'000;

inline std::uint64_t define(wire::RingWriter& ring, const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const std::uint64_t id = base::hash_bytes(text.data(), text.size());
  ring.push(wire::StringDef{id, bytes, 0}, base::mono_ns(), text.data(), bytes);
  return id;
}

/// Iterations of a loop with an optimizer inside, 20 ms each and half of it in operators.
inline void train(wire::RingWriter& ring, std::uint32_t iterations) {
  constexpr std::uint64_t kLoop = 1, kStack = 11;
  const std::uint64_t linear = define(ring, "aten::linear");
  const std::uint64_t update = define(ring, "Optimizer.step#SGD.step");
  ring.push(wire::LoopDef{kLoop, 7, 10, 20, 0, 0}, base::mono_ns());
  ring.push(wire::StackLoops{kStack, 1, 0}, base::mono_ns(), &kLoop, sizeof kLoop);
  std::uint32_t op_id = 0;
  for (std::uint32_t i = 0; i < iterations; ++i) {
    std::uint64_t now = base::mono_ns();
    ring.push(wire::LoopMark{now, kLoop, i == 0 ? wire::kMarkLoopEntry : 0, 0}, now);
    for (const std::uint64_t name : {linear, update}) {
      ++op_id;
      const std::uint16_t scope = name == linear ? 0 : 7;
      ring.push(
          wire::OpBegin{now, name, kStack, 0, -1, op_id, op_id, 0, 0, scope, wire::kOpTopLevel},
          now);
      sleep_ms(5);
      now = base::mono_ns();
      ring.push(wire::OpEnd{now, op_id, op_id, 0}, now);
    }
    sleep_ms(10);
  }
}

class CapturesTest : public DaemonTest {
 protected:
  CapturesTest() {
    options_.running_processes = true;
    options_.schedule.given = true;
    options_.schedule.active = {recording::Extent::Unit::kTime, kWindowNs};
    options_.schedule.repeat = 1;
  }

  /// Where nobody looks who asks all processes of this user.
  static std::string path(unsigned long long nonce) {
    return testing::TempDir() + "captures_test." + std::to_string(::getpid()) + "." +
           std::to_string(nonce);
  }

  /// Once it is there, processes may end.
  std::string continue_file() const { return folder_ + "/go_on"; }
  int wait_for(pid_t pid) const {
    std::ofstream(continue_file()).close();
    return DaemonTest::wait_for(pid);
  }

  recording::Summary wait_for_summary() {
    client_->joins_complete();
    return DaemonTest::wait_for_summary();
  }

  /// What the process behind a control socket writes once it has joined, and once it was recorded.
  std::string joined(const std::string& path) const { return mark("joined", path); }
  std::string recorded(const std::string& path) const { return mark("recorded", path); }
  static void wait_for_file(const std::string& path) {
    for (int i = 0; i < kTimeoutMs && ::access(path.c_str(), F_OK) != 0; ++i) sleep_ms(1);
  }

  /// A session from its begin to its end; again with a longer window where a busy machine gave the
  /// processes too little of the first one.
  recording::Summary retry_with_longer_window(
      const std::function<recording::Summary()>& session,
      const std::function<bool(const recording::Summary&)>& enough) {
    const std::uint64_t active_ns = options_.schedule.active.value;
    for (const std::uint64_t times : {1, 6, 36}) {
      client_.reset();
      stop_daemon();
      std::filesystem::remove(continue_file());
      options_.output = folder_ + "/out" + std::to_string(times);
      options_.schedule.active.value = times * active_ns;
      recording::Summary summary = session();
      if (enough(summary) || times == 36) return summary;
    }
    return {};
  }

  /// A process that runs, waits at `path`, is joined, and launches ten kernels. Exits with 0 if the
  /// daemon let it go.
  pid_t running_process(const std::string& path, bool asks_for_its_end = false,
                        const std::string& says = "") {
    return process_that(path, [&](FakeAgent& agent, wire::RingWriter& ring) {
      if (!says.empty())
        agent.send(wire::Notice{0, static_cast<std::uint32_t>(wire::NoticeLevel::kMissing), 0,
                                static_cast<std::uint32_t>(says.size()), base::mono_ns()},
                   says);
      for (std::uint32_t i = 1; i <= 10; ++i) launch(ring, i, 1);
      if (asks_for_its_end) agent.send(wire::ForwardedStop{1, 0});
    });
  }

  /// The same, but it does `work` once it is recorded.
  pid_t process_that(const std::string& path,
                     const std::function<void(FakeAgent&, wire::RingWriter&)>& work,
                     const FakeAgent::Options& as = {}) {
    const pid_t child = fork_child([&] {
      client_.reset();  // else the daemon never sees its client go
      FakeControlSocket control_socket(path);
      wire::JoinRequest join{};
      if (control_socket.wait_for_request(kTimeoutMs) != MessageType::kJoinRequest ||
          !control_socket.packet().as(&join))
        ::_exit(3);
      FakeAgent agent;
      if (!agent.join(control_socket.take_caller(), join.session, as)) ::_exit(4);
      std::ofstream(joined(path)).close();
      auto ring = agent.open_ring(1, RingRole::kCallback);
      for (int i = 0; i < kTimeoutMs && !agent.recording(); ++i)
        agent.process_messages(), sleep_ms(1);
      work(agent, ring);
      std::ofstream(recorded(path)).close();
      const bool stopped = agent.serve_until_stopped(kTimeoutMs);
      ::unlink(path.c_str());
      // It runs on: the daemon is to find it alive when it says how the process ended.
      wait_for_file(continue_file());
      ::_exit(stopped ? 0 : 5);
    });
    wait_for_file(path);
    return child;
  }

 private:
  std::string mark(const char* what, const std::string& path) const {
    return folder_ + "/" + what + path.substr(path.rfind('/') + 1);
  }
};

}  // namespace gpuprof::session
