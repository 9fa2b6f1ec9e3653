// SPDX-License-Identifier: Apache-2.0
//
// tensorflow.ProfilerService: Profile and Terminate.
//
// Context:  serve (each call on a thread of gRPC's)
// Owns:     which call records now
// Promises: one recording at a time; whatever ends it early, the call answers; of a request only
//           numbers and the comparison of session ids count: no text of it goes anywhere
// Not here: connections (grpc_server.cpp)
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "serve/capture.hpp"
#include "serve/profiler_service.grpc.pb.h"
#include "serve/target_processes.hpp"

namespace gpuprof::serve {

struct RequestedProfile;
struct CapturePlan;

class Service final : public tensorflow::ProfilerService::Service {
 public:
  /// @param allowed  Sources that may be recorded, wire::kTrace… bits.
  Service(CaptureCommand command, std::uint32_t allowed);

  /// Until then there is nobody to record.
  void set_filter(ProcessFilter choice);
  /// What is recorded now ends, with its answer; no more is begun.
  void close() { closing_ = true; }
  /// After close(): until what was recorded then is answered, at most timeout_ns.
  /// @return false if nothing was.
  bool wait_for_last_response(std::uint64_t timeout_ns) const;

  grpc::Status Profile(grpc::ServerContext* context, const tensorflow::ProfileRequest* request,
                       tensorflow::ProfileResponse* response) override;
  grpc::Status Terminate(grpc::ServerContext* context, const tensorflow::TerminateRequest* request,
                         tensorflow::TerminateResponse* response) override;
  grpc::Status Monitor(grpc::ServerContext* context, const tensorflow::MonitorRequest* request,
                       tensorflow::MonitorResponse* response) override;

 private:
  class RecordingGuard;
  bool is_recording() const;
  bool begin_recording(const std::string& session_id);
  void end_recording();
  bool should_stop(const grpc::ServerContext& context) const;
  bool wait_until(const grpc::ServerContext& context, std::uint64_t when_ns) const;
  TargetProcesses find_processes(const grpc::ServerContext& context) const;
  TargetProcesses wait_for_processes(const grpc::ServerContext& context,
                                     std::uint64_t deadline_ns) const;
  grpc::Status record(const grpc::ServerContext& context, const RequestedProfile& ask,
                      const CapturePlan& plan, tensorflow::ProfileResponse* response);

  const CaptureCommand command_;
  const std::uint32_t allowed_;
  mutable std::mutex mutex_;  // of the next three
  ProcessFilter choice_;
  bool selected_ = false, recording_ = false;
  std::string session_id_;  // of the one that records
  std::atomic<bool> terminated_{false}, closing_{false};
};

}  // namespace gpuprof::serve
