// SPDX-License-Identifier: Apache-2.0
//
// A daemon in a process of its own, a client on its control socket, a folder for its output. The
// test stays a process of one thread: what it forks may allocate under a sanitizer, too, whose
// allocator no fork waits for.
#pragma once

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon/client/client.hpp"
#include "daemon/session/server.hpp"
#include "gpuprof/base/clock.hpp"
#include "gpuprof/wire/messages.hpp"
#include "tests/fakes/fake_agent.hpp"

namespace gpuprof::session {

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// One launch and its kernel, `n`th of this agent.
inline void launch(wire::RingWriter& ring, std::uint32_t n, std::uint32_t tid) {
  const std::string name = "_Z6kernelv";
  const std::uint64_t name_id = base::hash_bytes(name.data(), name.size());
  const std::uint64_t now = base::mono_ns(), real = base::real_ns();
  ring.push(wire::StringDef{name_id, static_cast<std::uint32_t>(name.size()), 0}, now, name.data(),
            static_cast<std::uint32_t>(name.size()));
  ring.push(wire::Launch{now, 0, n, 2, 0, 211, tid, 0, 0}, now);
  ring.push(wire::ApiCall{real, real + 5000, name_id, 211, 2, n, tid, 0, 0}, now);
  wire::KernelExec kernel{};
  kernel.start_ns = real + 6000;
  kernel.end_ns = real + 9000;
  kernel.name_id = name_id;
  kernel.correlation = n;
  kernel.context = 1;
  kernel.stream = 7;
  kernel.grid_x = kernel.grid_y = kernel.grid_z = 1;
  kernel.block_x = 32, kernel.block_y = kernel.block_z = 1;
  ring.push(kernel, now);
}

/// What the agent itself records of a launch; CUPTI has not delivered anything of it yet.
inline void launch_undelivered(wire::RingWriter& ring, std::uint32_t n, std::uint32_t tid) {
  const std::uint64_t now = base::mono_ns();
  ring.push(wire::Launch{now, 0, n, 2, wire::kLaunchDeviceWork, 211, tid, 0, 0}, now);
}

class DaemonTest : public testing::Test {
 protected:
  DaemonTest() {
    char name[] = "/tmp/gpuprof-session-XXXXXX";
    folder_ = ::mkdtemp(name);
    options_.output = folder_ + "/out";
    options_.version = "test";
    void* shared =
        ::mmap(nullptr, sizeof *turns_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    turns_ = new (shared) std::atomic<std::uint64_t>(0);
  }
  ~DaemonTest() override {
    client_.reset();
    stop_daemon();
    std::filesystem::remove_all(folder_);
    ::munmap(turns_, sizeof *turns_);
  }

  /// Starts the daemon and opens a session with options_; returns the address for agents.
  std::string open() {
    int ends[2];
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    client_ = std::make_unique<client::Client>(base::UniqueFd(ends[0]));
    stop_fd_.reset(::eventfd(0, EFD_CLOEXEC));
    std::cout << std::flush;  // else the daemon prints it once more
    daemon_ = ::fork();
    if (daemon_ == 0) {
      client_.reset();                                 // else it never sees its client go
      std::exit(run_daemon(base::UniqueFd(ends[1])));  // leaks are looked for here, too
    }
    ::close(ends[1]);
    auto ready = client_->open(options_, 10'000'000'000);
    if (!ready) {
      refusal_ = ready.error().message;
      return "";
    }
    return ready.value().address;
  }

  /// Ends the command and waits for the summary.
  recording::Summary finish(int wait_status = 0) {
    client_->command_ended(wait_status);
    return wait_for_summary();
  }
  recording::Summary wait_for_summary() {
    for (int i = 0; i < 3000; ++i) {
      const client::DaemonMessage event = client_->receive(100'000'000);
      if (event.kind == client::DaemonMessage::Kind::kSummary) return event.summary;
      if (event.kind == client::DaemonMessage::Kind::kClosed) break;
    }
    ADD_FAILURE() << "no summary came";
    return {};
  }

  /// Runs `body` in a forked child; the child ends with _exit(0) after it.
  pid_t fork_child(const std::function<void()>& body) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    body();
    ::_exit(0);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

  void request_daemon_stop() {
    const std::uint64_t one = 1;
    EXPECT_EQ(static_cast<ssize_t>(sizeof one), ::write(stop_fd_.get(), &one, sizeof one));
  }
  void stop_daemon() {
    if (daemon_ <= 0) return;
    request_daemon_stop();
    EXPECT_EQ(0, wait_for(daemon_)) << "the daemon failed";
    daemon_ = -1;
  }

  /// Events in the spool that was kept; needs failures_ or an open session.
  std::vector<std::string> spool_folders() const {
    std::vector<std::string> found;
    if (!std::filesystem::exists(options_.output)) return found;
    for (const auto& entry : std::filesystem::directory_iterator(options_.output))
      if (entry.path().filename().string().rfind(".gpuprof-spool-", 0) == 0)
        found.push_back(entry.path());
    return found;
  }

  int run_daemon(base::UniqueFd control) {
    Server::Setup setup;
    setup.address =
        "@gpuprof-test-" + std::to_string(::getppid()) + "-" + std::to_string(base::mono_ns());
    setup.control = std::move(control);
    setup.host = "testhost";
    limit_descriptors();
    auto server = Server::create(std::move(setup));
    if (!server.ok()) return 1;
    server.value()->stop_when_readable(stop_fd_.get());
    while (server.value()->run_once(-1)) turns_->fetch_add(1);
    return 0;
  }

  void limit_descriptors() const {
    if (descriptors_ == 0) return;
    const rlimit limit{descriptors_, descriptors_};
    EXPECT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &limit));
  }

  rlim_t descriptors_ = 0;                       // that the daemon may have; 0: as many as we
  std::atomic<std::uint64_t>* turns_ = nullptr;  // of the daemon's loop
  std::string folder_, refusal_;
  recording::SessionOptions options_;
  std::unique_ptr<client::Client> client_;
  base::UniqueFd stop_fd_;
  pid_t daemon_ = -1;
};

}  // namespace gpuprof::session
