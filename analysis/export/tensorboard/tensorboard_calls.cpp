// SPDX-License-Identifier: Apache-2.0
//
// Host rows: runtime and driver calls, arrows to what they launched, CUPTI's overhead.
//
// Context:  daemon (export thread) | cli
#include "analysis/export/labels/event_names.hpp"
#include "analysis/export/tensorboard/tensorboard_sections.hpp"

namespace gpuprof::exporter {
void ApiCallWriter::write(const model::ApiCall& e) {
  Prescan& prescan = t_.prescan;
  if (!prescan.starts_in_window(e.start_ns)) return;
  const bool inner = e.correlation != 0 && drawn_.test_and_set(e.correlation);
  const model::RangeId op = t_.owner(e.range);
  if (op == 0 && e.range != 0) ++prescan.count(OmissionReason::kRangeStillOpen);
  if (inner && !t_.spelling.inner_calls) return;
  const std::string_view name = prescan.names.text(e.name);
  // An operator carries the stack of its first launch; without one the launch has to.
  const std::string_view stack =
      op == 0 ? t_.stacks.joined_frames(e.stack, e.start_ns) : std::string_view();
  BufferedWriter& json = t_.event(name.size() + stack.size());
  const JsonDialect& as = t_.spelling;
  json.raw("{\"ph\":\"X\",\"cat\":\"");
  json.raw(inner ? "inner_call" : e.api == 1 ? as.driver_call : as.runtime_call);
  json.raw("\",\"name\":\"").raw(name);
  t_.write_pid_tid(t_.host_pid, e.tid);
  t_.interval(e.start_ns, e.end_ns);
  json.raw(",\"args\":{");
  if (!inner)
    json.raw("\"External id\":").number(op).raw(",\"correlation\":").number(e.correlation);
  json.raw(inner ? "\"cbid\":" : ",\"cbid\":").number(e.cbid);
  if (e.api == 1) json.raw(",\"api\":\"driver\"");
  if (e.result != 0) json.raw(",\"result\":").signed_number(e.result);
  if (!stack.empty()) json.raw(",\"Call stack\":\"").raw(stack).raw("\"");
  json.raw("}}");
  if (inner || !prescan.on_gpu.test(e.correlation)) return;
  json.reserve(256);
  json.raw(",\n{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"id\":").number(e.correlation);
  json.raw(",\"pid\":").number(t_.host_pid).raw(",\"tid\":").number(e.tid);
  t_.ts(e.start_ns).raw("}");
}

void ApiCallWriter::write(const model::Overhead& e) {
  if (!t_.prescan.starts_in_window(e.start_ns)) return;
  BufferedWriter& json = t_.event(64);
  json.raw("{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":\"").raw(name_of(e));
  json.raw("\",\"pid\":-1,\"tid\":").number(e.tid);
  t_.interval(e.start_ns, e.end_ns);
  json.raw(",\"args\":{\"overhead kind\":").number(e.kind).raw("}}");
}

}  // namespace gpuprof::exporter
