// SPDX-License-Identifier: Apache-2.0
//
// Names the stacks a probe wrote: one JSON line a sample, for check_frames.py.
//
// usage: name_samples FILE     (FILE.maps: the memory map of the sampled process)
//
// Context:  tests
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/symbols/stack_symbolizer.hpp"
#include "gpuprof/wire/codec.hpp"

namespace {

using namespace gpuprof;

/// Turns wire records into the model's events, as daemon/ingest does.
class Feeder {
 public:
  explicit Feeder(symbols::StackSymbolizer* namer) : namer_(namer) {}

  void feed(wire::Kind kind, const std::byte* payload, std::size_t bytes) {
    wire::visit_record(kind, payload, bytes,
                       [this](const auto& record, const std::byte* tail, std::size_t tail_bytes) {
                         take(record, reinterpret_cast<const char*>(tail), tail_bytes);
                       });
  }

 private:
  template <typename R>
  void take(const R&, const char*, std::size_t) {}

  void take(const wire::PyCodeDef& def, const char* tail, std::size_t) {
    const model::StringId file = string({tail, def.file_bytes});
    const model::StringId name = string({tail + def.file_bytes, def.name_bytes});
    namer_->on(model::PythonCode{id(&codes_, def.id),
                                 file,
                                 name,
                                 def.first_line,
                                 def.py_minor,
                                 def.flags,
                                 {tail + def.file_bytes + def.name_bytes, def.table_bytes}});
  }

  void take(const wire::StackDef& def, const char* tail, std::size_t) {
    std::vector<std::uint64_t> native(def.native_count);
    std::vector<wire::PyFrame> frames(def.python_count);
    memcpy(native.data(), tail, native.size() * 8);
    memcpy(frames.data(), tail + native.size() * 8, frames.size() * sizeof(wire::PyFrame));
    std::vector<model::PythonFrame> python;
    for (const wire::PyFrame& frame : frames)
      python.push_back(
          {frame.code_id == 0 ? 0 : id(&codes_, frame.code_id), frame.instr_offset, frame.flags});
    namer_->on(model::StackDef{id(&stacks_, def.id), def.flags, native, python});
    flags_[id(&stacks_, def.id)] = def.flags;
  }

  void take(const wire::Sample& sample, const char*, std::size_t) {
    const model::StackId stack = id(&stacks_, sample.stack_id);
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> json(text);
    json.StartObject();
    json.Key("tid");
    json.Uint(sample.tid);
    json.Key("flags");
    json.Uint(flags_[stack]);
    json.Key("partial");
    json.Bool(namer_->partial(stack));
    json.Key("frames");
    json.StartArray();
    for (const symbols::DisplayFrame& frame : namer_->symbolize(stack)) {
      json.StartArray();
      json.Bool(frame.kind == symbols::FrameKind::kPython);
      json.String((frame.kind == symbols::FrameKind::kPython ? frame.file : frame.module).c_str());
      json.Int(frame.line);
      json.String(frame.name.c_str());
      json.EndArray();
    }
    json.EndArray();
    json.EndObject();
    puts(text.GetString());
  }

  model::StringId string(std::string_view text) {
    const auto dense = static_cast<model::StringId>(++strings_);
    namer_->on(model::StringDef{dense, text});
    return dense;
  }

  static std::uint32_t id(std::map<std::uint64_t, std::uint32_t>* ids, std::uint64_t wire_id) {
    return ids->try_emplace(wire_id, static_cast<std::uint32_t>(ids->size() + 1)).first->second;
  }

  symbols::StackSymbolizer* namer_;
  std::map<std::uint64_t, std::uint32_t> codes_, stacks_;
  std::map<std::uint32_t, std::uint32_t> flags_;
  std::uint32_t strings_ = 0;
};

/// One module for each mapped file. The bias is the first address less what that page has in the
/// file, which is right for shared objects; executables at a fixed address have none.
void feed_modules(const std::string& path, symbols::StackSymbolizer* namer) {
  std::ifstream maps(path);
  std::map<std::string, model::Module> modules;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, mode, offset, device, inode, file;
    fields >> range >> mode >> offset >> device >> inode >> file;
    if (file.empty() || (file[0] != '/' && file != "[vdso]")) continue;
    const std::uint64_t start = std::stoull(range, nullptr, 16);
    const std::uint64_t end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
    auto [at, added] = modules.try_emplace(
        file, model::Module{start < 0x10000000 ? 0 : start, start, end, 0, {}, {}});
    at->second.end = end;
  }
  for (auto& [file, module] : modules) {
    module.path = file;
    namer->on(module);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  symbols::StackSymbolizer namer;
  feed_modules(std::string(argv[1]) + ".maps", &namer);
  Feeder feeder(&namer);
  FILE* file = fopen(argv[1], "rb");
  if (file == nullptr) return 2;
  std::uint32_t head[2];
  std::vector<std::byte> payload;
  while (fread(head, sizeof head, 1, file) == 1) {
    payload.resize(head[1]);
    if (head[1] != 0 && fread(payload.data(), head[1], 1, file) != 1) return 1;
    feeder.feed(static_cast<gpuprof::wire::Kind>(head[0]), payload.data(), payload.size());
  }
  fclose(file);
  return 0;
}
