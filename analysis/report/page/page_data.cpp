// SPDX-License-Identifier: Apache-2.0
//
// All data of the page, in the order docs/report-page.md lists them.
//
// Context:  cli
#include "analysis/report/page/page.hpp"
#include "analysis/report/page/page_file.hpp"
#include "analysis/report/page/sections.hpp"

namespace gpuprof::report::page {
namespace {

Limits share_of(const Limits& limits, std::size_t processes) {
  const std::size_t n = std::max<std::size_t>(processes, 1);
  const auto part = [n](std::size_t all, std::size_t least) { return std::max(all / n, least); };
  return {part(limits.rows, 100), part(limits.flame_nodes, 500), part(limits.slice_events, 600),
          part(limits.step_points, 200)};
}

void write_advice(PageJson& json, const std::vector<PageAdvice>& advice) {
  json.array();
  for (const PageAdvice& one : advice) {
    json.object().key("rule").text(one.rule).key("title").text(one.title);
    json.key("sentence").text(one.message).key("change").text(one.change);
    json.key("file").text(one.file).key("line").number(one.line);
    json.key("last_line").number(one.last_line).key("function").text(one.function).key("share");
    if (one.share)
      json.number(*one.share);
    else
      json.null();
    json.key("share_of").text(one.share_of).key("process");
    if (one.process)
      json.number(static_cast<std::uint64_t>(*one.process));
    else
      json.null();
    json.key("evidence").texts(one.evidence).end_object();
  }
  json.end_array();
}

template <typename Write>
void member(SectionContext& part, std::string_view key, const Write& write) {
  part.json.key(key);
  write(part);
}

void write_process(PageJson& json, const ProcessReport& analysis, const PageTimeline* timeline,
                   const Limits& limits) {
  const Meta& meta = analysis.meta;
  std::vector<std::string> left_out;
  SectionContext part{json, analysis, limits, left_out};
  json.object().key("name").text(process_name(meta)).key("title").text(meta.program);
  json.key("command").text(meta.command).key("pid").number(meta.pid).key("rank").number(meta.rank);
  json.key("simulated").flag(meta.simulated).key("imported").flag(meta.imported);
  json.key("span_us").us(meta.recorded_ns);
  member(part, "wall", write_wall);
  member(part, "steps", write_steps);
  member(part, "gpus", write_gpus);
  member(part, "operators", write_operators);
  member(part, "kernels", write_gpu_work);
  member(part, "flames", write_flames);
  member(part, "timeline", [timeline](SectionContext& p) { write_timeline(p, timeline); });
  member(part, "memory", write_memory);
  member(part, "modules", write_modules);
  member(part, "environment", write_environment);
  member(part, "losses", write_losses);
  json.key("missing").texts(meta.missing).key("notices").texts(meta.notices);
  json.key("left_out").texts(left_out).end_object();
}

}  // namespace

SliceLimits slice_limits(const Limits& limits, std::size_t processes) {
  constexpr std::size_t kSlices = 3;
  return {share_of(limits, processes).slice_events / kSlices};
}

std::string page_data(const Report& report, const std::vector<PageAdvice>& advice,
                      const std::vector<PageTimeline>& timelines, const PageRequest& request) {
  const Limits limits = share_of(request.limits, report.processes.size());
  PageJson json;
  json.object().key("schema").number(1u).key("version").text(request.version);
  json.key("source").text(request.source).key("simulated").flag(report.simulated);
  json.key("advice");
  write_advice(json, advice);
  json.key("distributed");
  write_distributed(json, report);
  std::vector<std::string> missing = report.missing;
  missing.insert(missing.end(), report.import_summary.messages.begin(),
                 report.import_summary.messages.end());
  json.key("missing").texts(missing).key("processes").array();
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    write_process(json, report.processes[i], i < timelines.size() ? &timelines[i] : nullptr,
                  limits);
  }
  json.end_array().end_object();
  return std::string(json.view());
}

support::Result<std::uint64_t> write_page(const Report& report,
                                          const std::vector<PageAdvice>& advice,
                                          const std::vector<PageTimeline>& timelines,
                                          const PageRequest& request) {
  GPUPROF_CHECK(check_page_path(request.path, request.force));
  return write_page_file(request.path, request.force, PageKind::kReport,
                         page_data(report, advice, timelines, request));
}

}  // namespace gpuprof::report::page
