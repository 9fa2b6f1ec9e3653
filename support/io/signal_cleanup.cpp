// SPDX-License-Identifier: Apache-2.0
//
// A list of paths, and a thread that removes them.
//
// Context:  daemon | cli
#include "support/io/signal_cleanup.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

namespace gpuprof::support {
namespace {

namespace fs = std::filesystem;

struct ToRemove {
  std::string path;
  bool if_empty;
};

struct CleanupList {
  std::mutex mutex;
  std::vector<ToRemove> entries;
};

/// Never destroyed: the thread may outlive main().
CleanupList& list() {
  static CleanupList& one = *new CleanupList;
  return one;
}

/// Others may still be writing into a folder that goes: until it is gone, within reason.
void remove_one(const ToRemove& entry) {
  constexpr int kTries = 1000;
  std::error_code failed;
  if (entry.if_empty) {
    ::rmdir(entry.path.c_str());
    return;
  }
  for (int i = 0; i < kTries; ++i) {
    fs::remove_all(entry.path, failed);
    if (!failed) return;
  }
}

/// Keeps the list: whoever adds to it or takes from it waits for the end.
void wait_and_remove(sigset_t ends) {
  int signal = 0;
  if (sigwait(&ends, &signal) != 0) return;
  CleanupList& all = list();
  all.mutex.lock();
  for (auto entry = all.entries.rbegin(); entry != all.entries.rend(); ++entry) remove_one(*entry);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(signal, &plain, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
}

}  // namespace

void install_signal_cleanup() {
  list();
  sigset_t ends;
  sigemptyset(&ends);
  bool any = false;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    // A blocked signal would come though it is ignored.
    if (sigaction(signal, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    sigaddset(&ends, signal);
    any = true;
  }
  if (!any || pthread_sigmask(SIG_BLOCK, &ends, nullptr) != 0) return;
  try {
    std::thread(wait_and_remove, ends).detach();
  } catch (const std::system_error&) {
    // No thread to be had: ended as ever, with what that leaves.
    pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
  }
}

std::string create_with_cleanup(const std::function<std::string()>& make) {
  const std::lock_guard<std::mutex> held(list().mutex);
  std::string path = make();
  if (!path.empty()) list().entries.push_back({path, false});
  return path;
}

void cleanup_if_empty(const std::vector<std::string>& folders) {
  const std::lock_guard<std::mutex> held(list().mutex);
  for (const std::string& folder : folders) list().entries.push_back({folder, true});
}

void cancel_cleanup(const std::string& path) {
  const std::lock_guard<std::mutex> held(list().mutex);
  std::erase_if(list().entries, [&](const ToRemove& entry) { return entry.path == path; });
}

}  // namespace gpuprof::support
