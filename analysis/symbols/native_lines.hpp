// SPDX-License-Identifier: Apache-2.0
//
// Source lines of native code, where DWARF exists.
//
// Context:  daemon | cli
// Owns:     libdwfl sessions, one an object, until destroyed
// Promises: without DWARF nothing is found and nothing fails; the network is asked only with
//           `debuginfod`
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

struct Dwfl;

namespace gpuprof::symbols {

class NativeLines {
 public:
  explicit NativeLines(bool debuginfod) : debuginfod_(debuginfod) {}

  struct Place {
    std::string file;
    int line = 0;  // 0: not known
  };
  /// @param path    ELF file. @param address Virtual address in it.
  Place find(const std::string& path, std::uint64_t address);

 private:
  struct Close {
    void operator()(Dwfl* session) const;
  };
  using Session = std::unique_ptr<Dwfl, Close>;

  bool debuginfod_;
  std::map<std::string, Session> sessions_;
};

}  // namespace gpuprof::symbols
