// SPDX-License-Identifier: Apache-2.0
//
// A session's processes and its client.
//
// Context:  daemon (ingest thread)
#include "daemon/session/session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "daemon/messages/session.hpp"
#include "gpuprof/base/clock.hpp"
#include "support/process/procfs.hpp"

namespace gpuprof::session {
namespace {

/// Messages taken from one peer before others are looked at again.
constexpr int kMessagesAtOnce = 64;
/// Far more than fit into a socket: of one that nobody writes to any more the rest is read.
constexpr int kMaxWaiting = 16'384;

/// A Hello whose times nobody can have read gets the daemon's own.
wire::Hello with_possible_times(wire::Hello hello, std::uint64_t opened_ns, std::uint64_t now_ns) {
  ingest::Lifetime life;
  life.set_start(opened_ns);
  life.set_now(now_ns);
  const bool good =
      life.contains(hello.mono_ns) && (hello.load_ns == 0 || life.contains(hello.load_ns));
  if (good) return hello;
  hello.mono_ns = hello.load_ns = now_ns;
  hello.real_ns = base::real_ns();
  return hello;
}

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%" PRIx64, value);
  return text;
}

}  // namespace

support::Result<std::unique_ptr<Session>> Session::open(Setup setup, EventLoop& loop,
                                                        std::unique_ptr<Connection>* client) {
  GPUPROF_TRY(config, agent_config(setup.options));
  GPUPROF_TRY(folder, SpoolFolder::create(setup.options, hex(setup.key)));
  auto log = spool::SessionLog::create(folder.path(), setup.options, setup.host);
  if (!log) {
    folder.remove();
    return log.error();
  }
  return std::unique_ptr<Session>(
      new Session(std::move(setup), std::move(config), folder, log.take(), loop, client));
}

Session::Session(Setup setup, AgentConfig config, SpoolFolder folder,
                 std::unique_ptr<spool::SessionLog> log, EventLoop& loop,
                 std::unique_ptr<Connection>* client)
    : setup_(std::move(setup)),
      config_(std::move(config)),
      folder_(std::move(folder)),
      log_(std::move(log)),
      loop_(loop),
      schedule_(setup_.options, config_.search.has_step_source(), config_.search.among_operators()),
      join_requests_(
          loop_,
          [this](auto connection, const auto& hello, const auto& packet, const auto& who) {
            users_joined_.insert(who.uid);
            const auto named = named_.find(static_cast<std::uint32_t>(who.pid));
            if (named != named_.end() && named->second == 0)
              named->second = hello.process_start_ticks;
            add_agent(std::move(connection), hello, packet, who);
          },
          [this](std::uint32_t pid, const std::string& message) { capture_failed(pid, message); }),
      opened_ns_(base::mono_ns()) {
  if (client != nullptr) client_ = std::move(*client);
  if (client_) client_->watch([this] { receive_from_client(); });
  worker_ = std::make_unique<ExportWorker>(loop_, [this] { return programs_live(); });
}

void Session::send_ready(const std::string& address) {
  address_ = address + ";session=" + hex(setup_.key);
  if (!setup_.options.name.empty()) address_ += ";name=" + setup_.options.name;
  if (!client_) return;
  client_->send(wire::SessionReady{setup_.key, static_cast<std::uint32_t>(::getpid()),
                                   static_cast<std::uint32_t>(address_.size())},
                address_);
}

// An exec gives the same process a new image and a new agent: the old one has ended.
void Session::finish_replaced(std::uint32_t pid, std::uint64_t start_ticks) {
  for (const auto& target : targets_) {
    const Target::Identity& old = target->identity();
    if (old.pid != pid || old.start_ticks != start_ticks || target->finished()) continue;
    receive_rest(*target);  // the exec closed its socket, before this image could connect
    if (target->connected()) continue;
    target->finish(target->sent_bye() ? Target::End::kSentBye : Target::End::kReplaced, -1,
                   base::mono_ns());
  }
}

// How the command ended is the client's to say, a moment after the kernel has.
bool Session::await_status(const Target& target) const {
  return is_command(target) && !command_ended_ && client_ && !client_gone_ && !target.sent_bye();
}

std::int32_t Session::status_of(const Target& target) const {
  return is_command(target) ? wait_status_ : -1;
}

// Once it has ended another process may have its number.
bool Session::is_command(const Target& target) const {
  return target.identity().pid == command_pid_ &&
         (!command_ended_ || target.start_ns() <= command_ended_ns_);
}

bool Session::is_named(const Target::Identity& identity) const {
  const auto named = named_.find(identity.pid);
  return named != named_.end() && (named->second == 0 || named->second == identity.start_ticks);
}

void Session::peer_of_other_user(std::uint32_t uid) {
  constexpr std::size_t kMaxUsers = 4;
  ++peers_refused_;
  if (users_refused_.size() < kMaxUsers) users_refused_.insert(uid);
}

Target* Session::find_unfinished(std::uint32_t pid, std::uint64_t start_ticks) {
  for (const auto& target : targets_) {
    const Target::Identity& old = target->identity();
    if (old.pid == pid && old.start_ticks == start_ticks && !target->finished())
      return target.get();
  }
  return nullptr;
}

bool Session::has_connected(std::uint32_t pid) const {
  const auto among = [pid](const std::set<ProcessId>& some) {
    const auto at = some.lower_bound({pid, 0});
    return at != some.end() && at->first == pid;
  };
  return among(processes_refused_) || among(processes_forgotten_) ||
         std::any_of(targets_.begin(), targets_.end(),
                     [pid](const auto& target) { return target->identity().pid == pid; });
}

// A build has thousands of compilers, and the training may come behind them. Its spool stays until
// the session's end.
bool Session::evict_smallest() {
  const auto small = [](const Target& target) {
    const ingest::EventCounts& counts = target.counts();
    return target.finished() &&
           (target.identity().wake_reasons & ~wire::kWakeReconnect) == wire::kWakeCpuTime &&
           counts.operators + counts.steps + counts.ranges + counts.api_calls == 0;
  };
  auto least = targets_.end();
  for (auto at = targets_.begin(); at != targets_.end(); ++at)
    if (at->get() != leader_ && small(**at) &&
        (least == targets_.end() || (*at)->counts().cpu_ns < (*least)->counts().cpu_ns))
      least = at;
  if (least == targets_.end()) return false;
  processes_forgotten_.insert((*least)->identity().id());
  const auto index = static_cast<std::size_t>(least - targets_.begin());
  targets_.erase(least);
  std::erase(selected_targets_, index);
  for (std::size_t& selected : selected_targets_)
    if (selected > index) --selected;
  return true;
}

void Session::add_agent(std::unique_ptr<Connection> connection, const wire::Hello& hello,
                        const wire::Packet& packet, const Credentials& peer) {
  const std::uint64_t now_ns = base::mono_ns();
  Target::Identity identity = identity_of(hello, packet, peer);
  if ((hello.wake_reasons & wire::kWakeReconnect) != 0)
    if (Target* target = find_unfinished(identity.pid, identity.start_ticks); target != nullptr) {
      target->reconnect(std::move(connection), config_.config, config_.step_text);
      if (target->connected())
        target->connection()->watch([this, target] { receive_from(target); });
      return;
    }
  finish_replaced(identity.pid, identity.start_ticks);
  if (state_ != State::kRunning) return connection->refuse(messages::session::kSessionIsEnding);
  if (targets_.size() >= kMaxProcesses && !evict_smallest()) {
    processes_refused_.insert(identity.id());
    return connection->refuse(fmt::format(messages::session::kTooManyProcesses, kMaxProcesses));
  }
  identity.spool_file = std::to_string(identity.pid) + "-" + std::to_string(spools_++) + ".spool";
  const std::uint32_t pid = identity.pid;
  const ProcessId id = identity.id();
  const std::string spool_file = identity.spool_file;
  auto made =
      Target::create(with_possible_times(hello, opened_ns_, now_ns), std::move(identity),
                     folder_.path() + "/" + spool_file, setup_.options.buffer_size_bytes, *this);
  if (!made) {
    processes_refused_.insert(id);
    add_failure(made.error().message);
    return connection->refuse(made.error().message);
  }
  Target* target = targets_.emplace_back(made.take()).get();
  log_->process(pid, spool_file);
  start_clock(now_ns);
  target->look_for_steps(config_.search);
  target->set_overhead_limit(config_.max_overhead_ppm, config_.reductions);
  target->set_plan(schedule_.plan(), leader_ == nullptr);
  if (!target->connect(std::move(connection), config_.config, config_.step_text)) {
    target->disconnected(now_ns);
    return;
  }
  watch_target(target);
  spdlog::info("session {}: process {} ({})", hex(setup_.key), pid, target->identity().exe);
}

void Session::watch_target(Target* target) {
  target->connection()->watch([this, target] { receive_from(target); });
  target->watch_death(loop_, [this, target] {
    if (target->finished()) return;
    receive_rest(*target);
    if (await_status(*target)) return;
    finish_gone(*target, base::mono_ns());
  });
}

void Session::receive_from(Target* target) { receive_some(*target, kMessagesAtOnce); }

/// False where there may be more.
bool Session::receive_some(Target& target, int most) {
  wire::Packet packet;
  std::uint16_t major = 0;
  for (int i = 0; i < most && target.connected(); ++i) {
    switch (target.connection()->receive(&packet, &major)) {
      case Connection::Received::kNothing:
        return true;
      case Connection::Received::kClosed:
        target.disconnected(base::mono_ns());
        return true;
      case Connection::Received::kMalformed:
        continue;
      case Connection::Received::kMessage:
        if (major == wire::kWireMajor) target.on_message(packet);
    }
  }
  return !target.connected();
}

// What a process said before its end still waits in its socket.
void Session::receive_rest(Target& target) {
  if (!receive_some(target, kMaxWaiting)) target.report_unread_messages(base::mono_ns());
}

void Session::finish_gone(Target& target, std::uint64_t now_ns) {
  receive_rest(target);
  target.finish(target.sent_bye() ? Target::End::kSentBye : Target::End::kVanished,
                status_of(target), now_ns);
}

void Session::receive_from_client() {
  wire::Packet packet;
  std::uint16_t major = 0;
  for (int i = 0; i < kMessagesAtOnce && client_ && !client_->closed(); ++i) {
    switch (client_->receive(&packet, &major)) {
      case Connection::Received::kNothing:
        return;
      case Connection::Received::kClosed:
        return client_closed();
      case Connection::Received::kMalformed:
        continue;
      case Connection::Received::kMessage:
        on_client_message(packet);
    }
  }
}

void Session::client_closed() {
  spdlog::warn("session {}: the client closed its connection", hex(setup_.key));
  client_gone_ = true;
  client_->close();
}

void Session::on_client_message(const wire::Packet& packet) {
  wire::CommandStarted started;
  wire::CommandEnded ended;
  wire::EndSession end;
  if (packet.as(&started)) return command_started(started.pid);
  if (packet.as(&end)) return end_requested();
  if (packet.type == wire::MessageType::kCapture) return capture(packet);
  if (packet.as(&ended)) {
    command_ended_ = true;
    wait_status_ = ended.wait_status;
    command_ended_ns_ = base::mono_ns();
    return;
  }
  if (packet.type == wire::MessageType::kQueryStatus) {
    const std::string text = status_text();
    client_->send(wire::Status{static_cast<std::uint32_t>(text.size()), 0}, text);
    return;
  }
  client_->fail(messages::session::kUnknownRequest);
}

void Session::capture(const wire::Packet& packet) {
  wire::Capture asked;
  if (!packet.as(&asked) || packet.tail_bytes != asked.text_bytes) return;
  if ((asked.flags & wire::kJoinNamed) != 0) named_.emplace(asked.pid, 0);
  if (asked.pid == 0) {
    join_requests_.complete();
    return;
  }
  join_requests_.begin(asked.pid, std::string(packet.tail, packet.tail_bytes), asked.flags,
                       asked.program, setup_.key, address_, base::mono_ns());
}

void Session::capture_failed(std::uint32_t pid, const std::string& message) {
  if (named_.contains(pid) || !support::has_ended(static_cast<pid_t>(pid)))
    return add_failure(message);
  remark("ended " + std::to_string(pid), fmt::format(messages::session::kEndedUnrecorded, pid));
}

void Session::target_end_requested(Target& target, std::uint32_t by_pid) {
  spdlog::info(
      "session {}: process {} requested the end of the recording on the control socket of {}",
      hex(setup_.key), by_pid, target.identity().pid);
  stopped_by_command_ = true;
  request_end();
}

/// Of files that are being written already nothing is cut short.
bool Session::records() const {
  return state_ == State::kRunning && !end_requested_ && !schedule_.done();
}

void Session::end_requested() {
  if (setup_.options.running_processes && records()) interrupted_ = true;
  request_end();
}

void Session::end_with_daemon() {
  if (records() && !command_ended_) terminated_ = true;
  request_end();
}

void Session::command_started(std::uint32_t pid) {
  command_pid_ = pid;
  command_pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  start_clock(base::mono_ns());
}

void Session::follow_leader(Target& target) {
  leader_ = &target;
  leader_ns_ = base::mono_ns();
  spdlog::info("session {}: steps come from process {}", hex(setup_.key), target.identity().pid);
  schedule_.recording_unknown();
  for (const auto& [ts_ns, on] : target.recorded()) target_recording(target, on, ts_ns);
}

void Session::target_step_began(Target& target, std::uint64_t number, std::uint64_t ts_ns,
                                std::uint64_t label) {
  if (leader_ == nullptr) follow_leader(target);
  if (leader_ == &target) schedule_.step_began(number, ts_ns, label);
}

void Session::target_step_ended(Target& target, std::uint64_t number, std::uint64_t ts_ns,
                                bool pause) {
  if (leader_ == &target) schedule_.step_ended(number, ts_ns, pause);
}

void Session::target_first_activity(Target&, std::uint64_t ts_ns) {
  schedule_.first_activity(ts_ns);
}

void Session::target_recording(Target& target, bool on, std::uint64_t ts_ns) {
  if (leader_ != &target && leader_ != nullptr) return;
  on ? schedule_.recording_on(ts_ns) : schedule_.recording_off(ts_ns);
}

std::string Session::status_text() const {
  std::string text = "session " + hex(setup_.key) + " " + setup_.options.command_line + "\n";
  for (const auto& target : targets_) {
    const wire::Stats& stats = target->stats().stats();
    text += "process " + std::to_string(target->identity().pid) + " state " +
            std::to_string(stats.state.load(std::memory_order_relaxed)) + " steps " +
            std::to_string(stats.steps.load(std::memory_order_relaxed)) +
            (target->finished() ? " ended " : " running ") + target->identity().exe + "\n";
    for (const Target::AppliedReduction& one : target->applied_reductions())
      text += "  left out: " + one.what + "\n";
  }
  return text;
}

}  // namespace gpuprof::session
