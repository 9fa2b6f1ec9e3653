// SPDX-License-Identifier: Apache-2.0
//
// GPUPROF_SOCKET as the CLI writes it, and as nobody should.
#include "inject/agent/socket/address.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace gpuprof::agent {
namespace {

TEST(Address, ReadsAbstractNameSessionAndPid) {
  Address address;
  ASSERT_TRUE(parse_address("@gpuprof-1f;session=a0ff;pid=4711", &address));
  EXPECT_EQ(address.socket.sun_path[0], '\0');
  EXPECT_STREQ(address.socket.sun_path + 1, "gpuprof-1f");
  EXPECT_EQ(address.socket_bytes, offsetof(sockaddr_un, sun_path) + 11);
  EXPECT_EQ(address.session, 0xa0ffu);
  EXPECT_EQ(address.command_pid, 4711u);
}

TEST(Address, ReadsPathWithoutPid) {
  Address address;
  ASSERT_TRUE(parse_address("/run/user/0/gpuprof.sock;session=1", &address));
  EXPECT_STREQ(address.socket.sun_path, "/run/user/0/gpuprof.sock");
  EXPECT_EQ(address.command_pid, 0u);
}

TEST(Address, FieldsMayComeInAnyOrderAndUnknownOnesAreSkipped) {
  Address address;
  ASSERT_TRUE(parse_address("@x;pid=5;later=7;session=2", &address));
  EXPECT_EQ(address.session, 2u);
  EXPECT_EQ(address.command_pid, 5u);
}

TEST(Address, ArmedHasNoDaemon) {
  Address address;
  ASSERT_TRUE(parse_address("armed", &address));
  EXPECT_EQ(address.socket_bytes, 0u);
  EXPECT_EQ(address.nonce, 0u);
  EXPECT_EQ(address.idle_timeout_ms, 0u);
  EXPECT_STREQ(address.name, "");
}

TEST(Address, ArmedReadsNameNonceAndPatience) {
  Address address;
  ASSERT_TRUE(parse_address("armed;name=job-7;nonce=00ff0000000000ab;patience=10000", &address));
  EXPECT_STREQ(address.name, "job-7");
  EXPECT_EQ(address.nonce, 0xff0000000000abu);
  EXPECT_EQ(address.idle_timeout_ms, 10'000u);
}

TEST(Address, KeepsTheLongestNameAndCutsLongerOnes) {
  Address address;
  const std::string longest(63, 'n');  // recording::kMaxNameBytes
  ASSERT_TRUE(parse_address(("armed;name=" + longest + ";nonce=1").c_str(), &address));
  EXPECT_EQ(address.name, longest);
  ASSERT_TRUE(parse_address(("armed;name=" + longest + "too long;nonce=1").c_str(), &address));
  EXPECT_EQ(address.name, longest);
  EXPECT_EQ(address.nonce, 1u);
}

TEST(Address, ReadsTheNameOfASessionOfADaemon) {
  Address address;
  ASSERT_TRUE(parse_address("@x;session=2;name=run-1", &address));
  EXPECT_GT(address.socket_bytes, 0u);
  EXPECT_STREQ(address.name, "run-1");
}

TEST(Address, RefusesWhatIsNoAddress) {
  Address address;
  for (const char* text :
       {"", "relative/path;session=1", ";session=1", "@", "/", "armedd", "arm", "armed,name=x"})
    EXPECT_FALSE(parse_address(text, &address)) << text;
  EXPECT_FALSE(parse_address(nullptr, &address));
  EXPECT_FALSE(parse_address(("/" + std::string(200, 'x')).c_str(), &address));
}

TEST(Address, TellsProgramsStartedUnderAFilter) {
  char other[] = "HOME=/;session=1", ours[] = "GPUPROF_SOCKET=@gpuprof;session=2a;pid=7;name=a",
       armed[] = "GPUPROF_SOCKET=armed;name=session";
  char* environment[] = {other, ours, nullptr};
  mark_syscalls_restricted(environment);
  mark_syscalls_restricted(environment);
  EXPECT_STREQ("HOME=/;session=1", other);
  Address address;
  ASSERT_TRUE(parse_address(ours + 15, &address));
  EXPECT_TRUE(address.syscalls_restricted);
  EXPECT_EQ(0x2aU, address.session);
  EXPECT_EQ(7U, address.command_pid);
  char* waiting[] = {armed, nullptr};
  mark_syscalls_restricted(waiting);
  ASSERT_TRUE(parse_address(armed + 15, &address));
  EXPECT_TRUE(address.syscalls_restricted);
  EXPECT_STREQ("session", address.name);
  EXPECT_EQ(0U, address.socket_bytes);
  ASSERT_TRUE(parse_address("@gpuprof;session=2a", &address));
  EXPECT_FALSE(address.syscalls_restricted);
  mark_syscalls_restricted(nullptr);
}

}  // namespace
}  // namespace gpuprof::agent
