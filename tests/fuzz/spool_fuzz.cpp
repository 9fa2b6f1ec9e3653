// SPDX-License-Identifier: Apache-2.0
//
// Files that no daemon of ours wrote, read as a session: any bytes as a spool file, any events in
// blocks whose sums are right, any text as session.jsonl.
//
// Context:  tests
// Not here: what exports make of such sessions (answers_fuzz.cpp)
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "recording/session/session_options.hpp"
#include "recording/spool/block.hpp"
#include "recording/spool/event_coding.hpp"
#include "recording/spool/fields.hpp"
#include "recording/spool/spool.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace gpuprof;
using test::FuzzInput;
using test::require;

/// Looks at every byte of an event, and at its times.
struct Reader {
  std::uint64_t sum = 0;
  template <typename... T>
  void operator()(const T&... values) {
    ((sum += spool::widen(values)), ...);
  }
  void span(std::uint64_t start, std::uint64_t end) {
    require(start <= end && end >> 63 == 0, "a time that no reader of a session bears");
  }
  void bytes16(const std::array<std::uint8_t, 16>& bytes) { sum += bytes[0] + bytes[15]; }
  void text(std::string_view text) {
    for (const char c : text) sum += static_cast<unsigned char>(c);
  }
  void list(std::span<const std::uint64_t> list) {
    for (const auto one : list) sum += one;
  }
  void list(std::span<const model::PythonFrame> list) {
    for (const auto& one : list) sum += one.code + one.flags;
  }
};

struct Counting : model::EventSink {
  Reader reader;
  std::uint64_t events = 0;
};
template <typename Base, typename... E>
class ReadEach : public Base {};
template <typename Base, typename First, typename... Rest>
class ReadEach<Base, First, Rest...> : public ReadEach<Base, Rest...> {
 public:
  using ReadEach<Base, Rest...>::on;
  void on(const First& event) override {
    ++this->events;
    spool::fields(this->reader, event);
  }
};
template <typename List>
struct ReadAll;
template <typename... E>
struct ReadAll<model::EventList<E...>> {
  using Type = ReadEach<Counting, E...>;
};
using Reading = ReadAll<model::Events>::Type;

void replay(std::string_view bytes) {
  const int fd = ::memfd_create("spool", MFD_CLOEXEC);
  require(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "memfd");
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  Reading all, some;
  const auto end = spool::replay(path, {}, all);
  if (end.ok()) require(end.value().bytes_left <= bytes.size(), "more is left than there is");
  const spool::ReplayRange range{1'000'000, 2'000'000};
  const auto part = spool::replay(path, range, some);
  // Damage ends the whole; the part may have skipped it unread.
  const bool undamaged = end.ok() && end.value().complete;
  require(part.ok() == end.ok(), "the same file is read and refused");
  require(!undamaged || some.events <= all.events, "a part is more than the whole");
  std::uint64_t blocks = 0;
  if (const auto summaries = spool::block_summaries(path, {}); summaries.ok())
    blocks = summaries.value().size();
  require(blocks <= bytes.size() / sizeof(spool::BlockHeader), "more blocks than room");
  ::close(fd);
}

/// Blocks that pass every check of their own; what they hold is the fuzzer's.
std::string framed(FuzzInput& in) {
  spool::FileHeader head{};
  std::memcpy(head.magic, spool::kFileMagic, sizeof head.magic);
  head.version = spool::kSpoolVersion;
  head.header_bytes = sizeof head;
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  spool::BlockPacker packer;
  for (std::uint32_t sequence = 0; !in.empty() && sequence < 64; ++sequence) {
    spool::BlockHeader block{};
    const std::uint8_t how = in.byte();
    block.sequence = (how & 0xc0) == 0xc0 ? in.byte() : sequence;
    block.flags = (how & 1) != 0 ? spool::kBlockDefinitions : 0;
    block.min_ns = (how & 2) != 0 ? in.number<std::uint64_t>() : 0;
    block.max_ns = (how & 4) != 0 ? in.number<std::uint64_t>() : ~0ULL;
    block.events = in.byte();
    const std::string_view raw = in.text();
    if (raw.empty()) continue;
    const auto whole =
        packer.pack(block, {reinterpret_cast<const std::byte*>(raw.data()), raw.size()});
    file.append(reinterpret_cast<const char*>(whole.data()), whole.size());
  }
  return file;
}

/// One folder for the life of the program.
const std::string& folder() {
  // Never destroyed: what is called at the end needs it.
  static const std::string& made = *new std::string([] {
    char name[] = "/tmp/gpuprof-fuzz-XXXXXX";
    const std::string path = ::mkdtemp(name);
    std::atexit([] {
      ::unlink((folder() + "/session.jsonl").c_str());
      ::rmdir(folder().c_str());
    });
    return path;
  }());
  return made;
}

void read_log(std::string_view text) {
  const std::string path = folder() + "/session.jsonl";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "no log");
  ::close(fd);
  const auto view = spool::open_session(folder());
  if (!view.ok()) return require(!view.error().message.empty(), "no sentence");
  const std::string options = recording::to_text(view.value().options);
  const auto again = recording::from_text(options);
  require(again.ok() && recording::to_text(again.value()) == options,
          "options change on their way");
  for (const model::Window& window : view.value().windows)
    require(window.start_ns <= window.end_ns && window.end_ns >> 63 == 0, "a window without end");
}

}  // namespace

// One byte chooses what the rest is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput in(data, size);
  switch (in.pick(4)) {
    case 0:
      replay(in.rest());
      break;
    case 1:
      read_log(in.rest());
      break;
    default:
      replay(framed(in));
      break;
  }
  return 0;
}
