// SPDX-License-Identifier: Apache-2.0
#include "support/text/demangle.hpp"

#include <gtest/gtest.h>

namespace gpuprof::support {
namespace {

/// `P<P<…>, P<…>>`, `depth` deep: each depth says its first half again, in four characters.
std::string doubling(int depth) {
  const auto again = [](int n) {
    const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return n < 36 ? std::string("S") + digits[static_cast<std::size_t>(n)] + "_" : std::string();
  };
  std::string symbol = "_Z1fP1PI";
  for (int i = 1; i < depth; ++i) symbol += "S_I";
  symbol += "1A";
  for (int i = 0; i < depth; ++i) symbol += again(i) + "E";
  return symbol;
}

TEST(Demangle, NamesAreAsWritten) {
  EXPECT_EQ(demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)");
  EXPECT_EQ(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt::h0123456789abcdef");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Z"), "_Z");
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("_ZN3foo"), "_ZN3foo");
}

TEST(Demangle, ANameThatDoublesWithEachPartIsNotMade) {
  EXPECT_EQ(demangle(doubling(2).c_str()), "f(P<P<A, A>, P<A, A> >*)");
  EXPECT_GT(demangle(doubling(12).c_str()).size(), 4096u);
  EXPECT_EQ(demangle(doubling(34).c_str()), doubling(34));
}

}  // namespace
}  // namespace gpuprof::support
