// SPDX-License-Identifier: Apache-2.0
//
// The listening socket and gRPC behind it.
//
// Context:  serve
// Owns:     the socket, the thread that accepts, gRPC's server
// Promises: strangers are bounded: connections by the limit on descriptors and by how long they may
//           be idle, calls by threads, requests by their size
// Not here: what a call does (profiler_service_impl.cpp)
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <thread>

#include "gpuprof/base/unique_fd.hpp"
#include "serve/profiler_service_impl.hpp"

namespace gpuprof::serve {

class GrpcServer {
 public:
  /// @param listener  Non-blocking, listening.
  GrpcServer(Service& service, base::UniqueFd listener);
  /// Takes no more connections, waits for the calls of those there are: as long as it takes to
  /// write what a closed service still records, and to send it.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  /// False: gRPC could not be started.
  bool is_running() const { return server_ != nullptr; }

 private:
  void accept_loop();
  void accept_one();

  Service& service_;
  base::UniqueFd listener_, wake_;
  std::unique_ptr<grpc::Server> server_;
  std::thread accepting_;
};

}  // namespace gpuprof::serve
