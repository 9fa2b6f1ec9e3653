// SPDX-License-Identifier: Apache-2.0
//
// The listening socket and gRPC behind it.
//
// Context:  serve
#include "serve/grpc_server.hpp"

#include <errno.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include <chrono>
#include <utility>

#include "serve/capture.hpp"

namespace gpuprof::serve {
namespace {

constexpr int kMaxThreads = 32;
// A request is some hundred bytes.
constexpr int kMaxRequestBytes = 1 << 20;
// Between the calls of a connection; also for one that never says a word.
constexpr int kMaxIdleMs = 60'000;
// Less than a command waits for us; an idle connection holds it up for as long.
constexpr std::chrono::seconds kGoodbye(1);
constexpr std::chrono::seconds kMaxSending(10);
// No descriptor is free: somebody has to go first.
constexpr timespec kRest{0, 100'000'000};

std::unique_ptr<grpc::Server> start(Service& service) {
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
  grpc::ResourceQuota quota("gpuprof-serve");
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  return builder.BuildAndStart();
}

}  // namespace

GrpcServer::GrpcServer(Service& service, base::UniqueFd listener)
    : service_(service),
      listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      server_(start(service)) {
  if (server_ != nullptr) accepting_ = std::thread([this] { accept_loop(); });
}

GrpcServer::~GrpcServer() {
  if (server_ == nullptr) return;
  eventfd_write(wake_.get(), 1);
  accepting_.join();
  listener_.reset();
  const bool sends = service_.wait_for_last_response(kMaxWriteTime_ns);
  server_->Shutdown(std::chrono::system_clock::now() + (sends ? kMaxSending : kGoodbye));
}

/// gRPC's own listener would share the port with another one's (SO_REUSEPORT), and would say of
/// one that it cannot have only that it cannot.
void GrpcServer::accept_loop() {
  pollfd waiting[] = {{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (true) {
    if (poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents != 0) accept_one();
  }
}

void GrpcServer::accept_one() {
  base::UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!peer) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      nanosleep(&kRest, nullptr);
    return;
  }
  const int on = 1;
  setsockopt(peer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  grpc::AddInsecureChannelFromFd(server_.get(), peer.release());
}

}  // namespace gpuprof::serve
