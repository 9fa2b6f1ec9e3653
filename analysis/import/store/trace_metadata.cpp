// SPDX-License-Identifier: Apache-2.0
//
// Head, by RapidJSON's tree: the members are small.
//
// Context:  cli through analysis/commands
#include "analysis/import/store/trace_metadata.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <limits>

#include "analysis/import/store/parse_numbers.hpp"
#include "analysis/messages/import_json.hpp"
#include "recording/model/loss.hpp"

namespace gpuprof::importer {
namespace {

using Json = rapidjson::Value;

/// The version of the top level's layout that is known; Kineto and gpuprof write 1.
constexpr std::int64_t kSchemaVersion = 1;
constexpr std::size_t kMaxDevices = 1024;
constexpr std::size_t kMaxMessages = 1000;

const Json* member(const Json& object, const char* key) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::optional<std::int64_t> integer(const Json& value) {
  if (value.IsString()) return parse_int64({value.GetString(), value.GetStringLength()});
  if (value.IsInt64()) return value.GetInt64();
  if (value.IsBool()) return value.GetBool() ? 1 : 0;
  if (value.IsDouble() && value.GetDouble() >= -0x1p62 && value.GetDouble() < 0x1p62)
    return static_cast<std::int64_t>(value.GetDouble());
  return std::nullopt;
}

template <typename T>
T number(const Json& object, const char* key) {
  const Json* const value = member(object, key);
  const auto read = value == nullptr ? std::nullopt : integer(*value);
  if (!read || *read < 0) return 0;
  if (static_cast<std::uint64_t>(*read) > std::numeric_limits<T>::max()) return 0;
  return static_cast<T>(*read);
}

std::string text(const Json& value) {
  return value.IsString() ? std::string(value.GetString(), value.GetStringLength()) : std::string();
}
std::string text(const Json& object, const char* key) {
  const Json* const value = member(object, key);
  return value == nullptr ? std::string() : text(*value);
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> all;
  const Json* const list = member(object, key);
  if (list == nullptr || !list->IsArray()) return all;
  for (const Json& one : list->GetArray())
    if (one.IsString() && all.size() < kMaxMessages) all.push_back(text(one));
  return all;
}

void take_device(const Json& d, std::uint32_t index, std::vector<TraceMetadata::Device>& devices) {
  TraceMetadata::Device known;
  model::Device& to = known.device;
  to.device = index;
  known.name = text(d, "name");
  to.total_memory_bytes = number<std::uint64_t>(d, "totalGlobalMem");
  const std::pair<const char*, std::uint32_t*> numbers[] = {
      {"computeMajor", &to.compute_major},
      {"computeMinor", &to.compute_minor},
      {"maxThreadsPerBlock", &to.max_threads_per_block},
      {"maxThreadsPerMultiprocessor", &to.max_threads_per_sm},
      {"maxBlocksPerMultiprocessor", &to.max_blocks_per_sm},
      {"regsPerBlock", &to.registers_per_block},
      {"regsPerMultiprocessor", &to.registers_per_sm},
      {"warpSize", &to.warp_size},
      {"sharedMemPerBlock", &to.shared_per_block_bytes},
      {"sharedMemPerBlockOptin", &to.shared_per_block_optin_bytes},
      {"sharedMemPerMultiprocessor", &to.shared_per_sm_bytes},
      {"numSms", &to.sm_count},
      {"clockRateKHz", &to.clock_khz},
      {"memoryClockRateKHz", &to.memory_clock_khz},
      {"memoryBusWidth", &to.memory_bus_bits},
      {"l2CacheSize", &to.l2_bytes}};
  for (const auto& [key, value] : numbers) *value = number<std::uint32_t>(d, key);
  // Since 8.0 the driver keeps a KiB of each block's shared memory; the files do not tell it.
  if (to.compute_major >= 8) to.shared_reserved_bytes = 1024;
  if (known.name != "not described") devices.push_back(std::move(known));
}

/// Files of earlier versions have other names for these.
std::string_view current_name(std::string_view name) {
  constexpr std::pair<std::string_view, model::LossReason> kFormerNames[] = {
      {"thread blocks our signal", model::LossReason::kThreadMasked},
      {"waiting thread went on while its stack was read", model::LossReason::kBlockedTorn},
      {"GPU record with bad times", model::LossReason::kCuptiBadTime},
      {"inner call of another call", model::LossReason::kDuplicateCall},
      {"thread busy in our code", model::LossReason::kSampleBusy},
      {"byte lost in cut CUPTI buffers", model::LossReason::kCuptiUnknownBytes},
      {"begin of a step lost", model::LossReason::kStepLost},
      {"graph node left out", model::LossReason::kGraphNodeSkipped},
  };
  for (const auto& [former, reason] : kFormerNames)
    if (name == former) return model::loss_name(reason);
  return name;
}

std::uint32_t reason_of(std::string_view recorded_name) {
  const std::string_view name = current_name(recorded_name);
  for (std::uint32_t reason = 0;; ++reason) {
    const auto known = model::loss_name(static_cast<model::LossReason>(reason));
    if (known == name) return reason;
    if (reason != 0 && known == model::loss_name(model::LossReason::kUnknown)) return 0;
  }
}

void take_own(const Json& own, TraceMetadata& head) {
  head.written_by_gpuprof = own.IsObject();
  if (!head.written_by_gpuprof) return;
  head.version = text(own, "version");
  head.program = text(own, "program");
  head.command = text(own, "command");
  head.session = text(own, "session");
  if (const std::string host = text(own, "host"); !host.empty()) head.host = host;
  head.pid = number<std::uint32_t>(own, "pid");
  head.ppid = number<std::uint32_t>(own, "ppid");
  if (const Json* const w = member(own, "window"); w != nullptr) {
    head.window = {
        number<std::uint32_t>(*w, "index"),       number<std::uint64_t>(*w, "start_ns"),
        number<std::uint64_t>(*w, "duration_ns"), number<std::uint64_t>(*w, "first_step"),
        number<std::uint64_t>(*w, "steps"),       text(*w, "why")};
  }
  if (const Json* const losses = member(own, "dropped"); losses != nullptr && losses->IsObject())
    for (const auto& loss : losses->GetObject())
      head.losses.push_back({reason_of(text(loss.name)),
                             number<std::uint64_t>(loss.value, "in this window"),
                             number<std::uint64_t>(loss.value, "since the start")});
  head.missing = texts(own, "missing");
  head.notices = texts(own, "notices");
  head.notes = texts(own, "remarks");
  if (const Json* const clock = member(own, "clock"); clock != nullptr)
    head.worst_gap_ns = number<std::uint64_t>(*clock, "worst_gap_ns");
  if (const Json* const facts = member(own, "facts"); facts != nullptr && facts->IsObject())
    for (const auto& fact : facts->GetObject())
      if (fact.value.IsString()) head.facts[text(fact.name)] = text(fact.value);
}

/// As exporter::rank_of reads them; what the process itself told stands.
void take_rank(const Json& info, TraceMetadata& head) {
  for (const char* key : {"rank", "world_size"})
    if (const Json* const value = member(info, key); value != nullptr)
      if (const auto is = integer(*value); is && *is >= 0)
        head.facts.try_emplace(key, std::to_string(*is));
  if (const std::string backend = text(info, "backend"); !backend.empty())
    head.facts.try_emplace("distributed.backend", backend);
}

}  // namespace

support::Result<void> TraceMetadata::take(std::string_view key, std::string_view json,
                                          const std::string& path) {
  constexpr std::string_view kWanted[] = {
      "deviceProperties", "distributedInfo", "baseTimeNanoseconds", "gpuprof",
      "host_name",        "schemaVersion",   "simulated",           "record_shapes",
      "with_stack",       "with_modules",    "profile_memory",      "traceName"};
  if (std::find(std::begin(kWanted), std::end(kWanted), key) == std::end(kWanted)) return {};
  rapidjson::Document tree;
  tree.Parse<rapidjson::kParseNanAndInfFlag>(json.data(), json.size());
  if (tree.HasParseError()) {
    if (invalid_members.size() < kMaxMessages) invalid_members.emplace_back(key);
    return {};
  }
  const auto flag = [&](std::optional<bool>& to) {
    if (const auto is = integer(tree)) to = *is != 0;
  };
  if (key == "schemaVersion") {
    const auto layout = integer(tree);
    if (layout && *layout > kSchemaVersion)
      return support::error(
          fmt::format(messages::import_json::kNewerVersion, path, *layout, kSchemaVersion));
  } else if (key == "deviceProperties" && tree.IsArray()) {
    std::uint32_t index = 0;
    for (const Json& device : tree.GetArray()) {
      if (index < kMaxDevices && device.IsObject()) take_device(device, index, devices);
      ++index;
    }
  } else if (key == "distributedInfo") {
    take_rank(tree, *this);
  } else if (key == "baseTimeNanoseconds") {
    base_ns = integer(tree);
  } else if (key == "host_name") {
    if (host.empty()) host = text(tree);
  } else if (key == "traceName") {
    worker = text(tree);
  } else if (key == "simulated") {
    simulated = tree.IsTrue();
  } else if (key == "record_shapes") {
    flag(shapes);
  } else if (key == "with_stack") {
    flag(stacks);
  } else if (key == "with_modules") {
    flag(modules);
  } else if (key == "profile_memory") {
    flag(memory);
  } else if (key == "gpuprof") {
    take_own(tree, *this);
  }
  return {};
}

}  // namespace gpuprof::importer
