// SPDX-License-Identifier: Apache-2.0
//
// Emitter: which launch GPU work comes from.
//
// Context:  cli through analysis/commands
#include <algorithm>

#include "analysis/import/emit/emit.hpp"

namespace gpuprof::importer {

const Emitter::Launch* Emitter::launch_of(std::uint16_t process, std::uint32_t correlation) const {
  if (correlation == 0) return nullptr;
  return launches_.find(process, correlation);
}

OpenOperator* Emitter::open_call(const Thread& own) {
  if (own.last_call == 0) return nullptr;
  OpenOperator& call = pool_[own.last_call - 1];
  return own.last_call_order == call.order ? &call : nullptr;
}

/// The operator, or the call, that is open where the arrow begins.
void Emitter::launch_flow(const ParsedEvent& r) {
  Thread& own = thread(processes_[r.process], r.tid);
  Launch from{0, r.tid, own.open.empty() ? 0 : pool_[own.open.back()].id, r.start_ns, r.process};
  // An operator that says the arrow's number of itself, whenever that is drawn.
  if (const auto reported = range_of(r.process, kRecordFunctionIdBit + r.link.id, nullptr);
      reported != 0)
    from.range = reported;
  if (OpenOperator* const open = open_call(own)) {
    ParsedEvent& call = open->record;
    if (r.start_ns <= call.end_ns) {
      if (call.call.correlation == 0) call.call.correlation = made_correlation_++;
      from.correlation = call.call.correlation;
    }
  }
  links_.put(r.process, r.link.id, from);
}

void Emitter::work_flow(const ParsedEvent& r) {
  flow_targets_.put(r.process, time_and_thread_key(r), {r.tid, r.start_ns, r.link.id});
}

/// What an arrow to this work comes from; null: no arrow leads here.
const Emitter::Launch* Emitter::launch_by_flow(const ParsedEvent& r) const {
  const FlowTarget* const led = flow_targets_.find(r.process, time_and_thread_key(r));
  if (led == nullptr || led->tid != r.tid || led->ns != r.start_ns) return nullptr;
  for (const std::uint16_t host : owners_.candidates(r))
    if (const Launch* const from = links_.find(host, led->id)) return from;
  return nullptr;
}

Emitter::Launch Emitter::find_launch(const ParsedEvent& r) {
  const GpuFields& gpu = r.gpu;
  const Launch* found = nullptr;
  const auto likely = owners_.candidates(r);
  if (owners_.is_shared(r.process)) {
    // Several may have launched it: those that launched first run first.
    std::vector<const Launch*> launches;
    for (const std::uint16_t host : likely)
      if (const Launch* one = launch_of(host, gpu.correlation)) launches.push_back(one);
    std::sort(launches.begin(), launches.end(),
              [](const Launch* a, const Launch* b) { return a->start_ns < b->start_ns; });
    const TrackOwners::Position place = owners_.position_of(r);
    if (!launches.empty())
      found = place.of == launches.size() && place.at < launches.size() ? launches[place.at]
                                                                        : launches.front();
  }
  for (std::size_t i = 0; found == nullptr && i < likely.size(); ++i)
    found = launch_of(likely[i], gpu.correlation);
  const Launch* const flow = found == nullptr || found->range == 0 ? launch_by_flow(r) : nullptr;
  if (found != nullptr) {
    Launch launch = *found;
    if (flow != nullptr && flow->process == launch.process) launch.range = flow->range;
    return launch;
  }
  if (flow != nullptr) return *flow;
  Launch none{0, 0, 0, 0, likely.front()};
  for (const std::uint16_t host : likely) {
    none.range = gpu.external_id == 0 ? 0 : range_of(host, gpu.external_id, nullptr);
    if (none.range == 0) continue;
    none.process = host;
    return none;
  }
  if (owners_.has_several() && !owners_.is_settled(r.process)) ++ownerless_;
  return none;
}

}  // namespace gpuprof::importer
