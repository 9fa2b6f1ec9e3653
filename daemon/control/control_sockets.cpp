// SPDX-License-Identifier: Apache-2.0
//
// Looks for control sockets: in our own folders, in those of other mount namespaces, among abstract
// names.
//
// Context:  cli
#include "daemon/control/control_sockets.hpp"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "daemon/control/control_request.hpp"
#include "gpuprof/wire/control_socket.hpp"
#include "support/io/files.hpp"
#include "support/process/procfs.hpp"
#include "support/text/text.hpp"

namespace gpuprof::control {
namespace {

/// Names in a folder; none if it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* open = ::opendir(folder.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open)) names.emplace_back(entry->d_name);
  ::closedir(open);
  return names;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Folders of control sockets below a root ("" or /proc/PID/root), of every user.
std::vector<std::string> control_folders(const std::string& root) {
  std::vector<std::string> folders;
  for (const wire::ControlSocketFolder& place : wire::kControlSocketFolders) {
    const std::string before = place.prefix;
    const std::size_t slash = before.rfind('/');
    const std::string parent = root + before.substr(0, slash), start = before.substr(slash + 1);
    for (const std::string& name : names_in(parent))
      if (name.rfind(start, 0) == 0 && is_number(name.substr(start.size())))
        folders.push_back(parent + "/" + name + place.suffix);
  }
  return folders;
}

std::string link_text(const std::string& path) {
  char text[256];
  const ssize_t bytes = ::readlink(path.c_str(), text, sizeof text);
  return bytes > 0 ? std::string(text, static_cast<std::size_t>(bytes)) : "";
}

/// What tells apart places that do not see our files: mount namespace and root folder.
std::string place_of(const std::string& proc) {
  const std::string space = link_text(proc + "/ns/mnt"), root = link_text(proc + "/root");
  return space.empty() || root.empty() ? "" : space + root;
}

/// The id of the process as it sees itself.
std::uint32_t inner_pid(std::uint32_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    const std::size_t last = line.find_last_of("\t ");
    return static_cast<std::uint32_t>(std::strtoul(line.c_str() + last + 1, nullptr, 10));
  }
  return pid;
}

/// The process that has this id as it sees itself, and of which it holds, as we see it; 0: none.
template <typename Holds>
std::uint32_t seen_as(std::uint32_t inner, Holds holds) {
  for (const std::string& name : names_in("/proc")) {
    if (!is_number(name)) continue;
    const auto pid = static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
    if (inner_pid(pid) == inner && holds("/proc/" + name)) return pid;
  }
  return 0;
}

/// Whether both looks at a path saw one file, that of one process at one time.
bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

/// The process that answers at a path; 0: none. A file that nobody listens behind is removed,
/// unless it is a new one by now: the library makes its control socket anew where its thread had to
/// be gone for a fork.
///
/// @param named     The id its name stands for, as we see it; 0: not known. It is taken for that of
///                  a process at whose control socket so many wait that nobody else can: it is
///                  stopped, or the machine busy.
/// @param or_named  Finds that id where it is not known, and we got no place for 0.5 s; 0: none.
template <typename OrNamed>
std::uint32_t listening_process(const std::string& path, std::uint32_t named, OrNamed or_named) {
  constexpr int kWaitMs = 500;
  struct stat before {
  }, now{};
  const bool is_file = path[0] == '/' && ::lstat(path.c_str(), &before) == 0;
  int failure = 0;
  const std::uint32_t pid = listener_of(path, &failure, named == 0 ? kWaitMs : 0);
  if (pid == 0 && failure == ECONNREFUSED && is_file && ::lstat(path.c_str(), &now) == 0 &&
      same_file(before, now))
    ::unlink(path.c_str());
  if (pid != 0 || failure != EAGAIN) return pid;
  return named != 0 ? named : or_named();
}

ControlSocket belonging(std::uint32_t pid, const std::string& path) {
  return {pid, path, support::exec_fingerprint(static_cast<pid_t>(pid))};
}

/// A control socket whose process was ended while it made it: nobody will ever rename it.
bool is_stale(const std::string& path, const std::string& name) {
  constexpr std::time_t kStaleAgeSeconds = 60;
  const std::string_view unfinished = wire::kNotListeningSuffix;
  if (!name.ends_with(wire::kControlSocketSuffix + std::string(unfinished))) return false;
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) &&
         info.st_mtime + kStaleAgeSeconds < std::time(nullptr);
}

/// @param wanted  Only control sockets of this id, as the process sees itself; 0: all.
/// @param as      That process's id as we see it; 0: not known.
void add_from_folders(const std::string& root, std::uint32_t wanted, std::uint32_t as,
                      std::vector<ControlSocket>& control_sockets) {
  const std::string place = place_of(root.substr(0, root.rfind('/')));
  const std::string start = wanted == 0 ? "" : std::to_string(wanted) + "-";
  for (const std::string& folder : control_folders(root))
    for (const std::string& name : names_in(folder)) {
      const std::string path = folder + "/" + name;
      if (is_stale(path, name)) listening_process(path, 0, [] { return 0u; });
      if (!name.ends_with(wire::kControlSocketSuffix) || name.rfind(start, 0) != 0) continue;
      const auto named = static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10));
      const std::uint32_t pid = listening_process(path, root.empty() ? named : as, [&] {
        return seen_as(named, [&](const std::string& proc) {
          return !place.empty() && place_of(proc) == place;
        });
      });
      if (pid != 0) control_sockets.push_back(belonging(pid, path));
    }
}

/// Abstract names are of one network namespace: ours.
void add_abstract(std::vector<ControlSocket>& control_sockets) {
  std::ifstream sockets("/proc/net/unix");
  std::set<std::string> names;
  for (std::string line; std::getline(sockets, line);) {
    const std::size_t at = line.find(std::string(" ") + wire::kAbstractSocketPrefix);
    if (at != std::string::npos) names.insert(line.substr(at + 1));
  }
  const std::string net = link_text("/proc/self/ns/net");
  for (const std::string& name : names) {
    unsigned user = 0, named = 0;
    if (std::sscanf(name.c_str(), "@gpuprof-door-%u-%u-", &user, &named) != 2) continue;
    const std::uint32_t pid = listening_process(name, 0, [&] {
      return seen_as(named,
                     [&](const std::string& proc) { return link_text(proc + "/ns/net") == net; });
    });
    if (pid != 0) control_sockets.push_back(belonging(pid, name));
  }
}

void sort_and_thin(std::vector<ControlSocket>& control_sockets) {
  std::stable_sort(control_sockets.begin(), control_sockets.end(),
                   [](const ControlSocket& a, const ControlSocket& b) { return a.pid < b.pid; });
  control_sockets.erase(
      std::unique(control_sockets.begin(), control_sockets.end(),
                  [](const ControlSocket& a, const ControlSocket& b) { return a.pid == b.pid; }),
      control_sockets.end());
}

}  // namespace

std::vector<ControlSocket> find_control_sockets() {
  std::vector<ControlSocket> control_sockets;
  add_from_folders("", 0, 0, control_sockets);
  std::set<std::string> seen = {place_of("/proc/self")};
  for (const std::string& name : names_in("/proc")) {
    if (!is_number(name)) continue;
    const std::string proc = "/proc/" + name, place = place_of(proc);
    if (place.empty() || seen.contains(place)) continue;
    add_from_folders(proc + "/root", 0, 0, control_sockets);
    // One that ended meanwhile showed us nothing: the next process there will.
    if (place_of(proc) == place) seen.insert(place);
  }
  add_abstract(control_sockets);
  sort_and_thin(control_sockets);
  return control_sockets;
}

ControlSocket control_socket_of(std::uint32_t pid) {
  std::vector<ControlSocket> control_sockets;
  const std::string proc = "/proc/" + std::to_string(pid);
  const bool near = place_of(proc) == place_of("/proc/self") || place_of(proc).empty();
  add_from_folders(near ? "" : proc + "/root", inner_pid(pid), pid, control_sockets);
  if (control_sockets.empty()) add_abstract(control_sockets);
  for (const ControlSocket& control_socket : control_sockets)
    if (control_socket.pid == pid) return control_socket;
  return ControlSocket{pid, ""};
}

}  // namespace gpuprof::control
