// SPDX-License-Identifier: Apache-2.0
//
// From the words a person types for a place to listen at, to a socket that listens there.
//
// Context:  daemon | cli
#include "support/io/listen_address.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

#include <memory>
#include <optional>

#include "support/messages/io.hpp"
#include "support/text/text.hpp"

namespace gpuprof::support {
namespace {

constexpr int kBacklog = 64;

struct Parts {
  std::string host, port;
  bool six = false;  // in brackets
};

/// nullopt: it has none of the forms.
std::optional<Parts> split_parts(const std::string& word) {
  if (word.find_first_not_of("0123456789") == std::string::npos && !word.empty())
    return Parts{"127.0.0.1", word, false};
  if (word.starts_with("[")) {
    const std::size_t end = word.find("]:");
    if (end == std::string::npos || end == 1) return std::nullopt;
    return Parts{word.substr(1, end - 1), word.substr(end + 2), true};
  }
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos || colon == 0 || word.find(':', colon + 1) != std::string::npos)
    return std::nullopt;
  return Parts{word.substr(0, colon), word.substr(colon + 1), false};
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::string shown(const ListenAddress& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const auto* plain = reinterpret_cast<const sockaddr*>(&address.socket_address);
  if (getnameinfo(plain, address.bytes, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  const bool six = address.socket_address.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", six ? "[" : "", host, six ? "]" : "", port);
}

std::string why_not(int failure) {
  switch (failure) {
    case EADDRINUSE:
      return messages::io::kPortInUse;
    case EACCES:
      return messages::io::kPortOfRoot;
    case EADDRNOTAVAIL:
      return messages::io::kNotOurAddress;
    case EAFNOSUPPORT:
      return messages::io::kNoIpv6;
    default:
      return strerror(failure);
  }
}

}  // namespace

Result<ListenAddress> parse_listen_address(const std::string& option, const std::string& word) {
  const auto parts = split_parts(word);
  const auto port = parts ? parse_unsigned(parts->port) : error("");
  if (!parts || (!parts->six && parts->port.empty()))
    return error(fmt::format(messages::io::kExpectedAddress, option, in_quotes(word)));
  if (!port || port.value() == 0 || port.value() > 65'535)
    return error(
        fmt::format(messages::io::kNotAPort, option, in_quotes(word), in_quotes(parts->port)));
  addrinfo wanted{};
  wanted.ai_family = parts->six ? AF_INET6 : AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | (parts->six ? AI_NUMERICHOST : 0);
  // Everybody's first answer; ::1 where it is listed first would not be found at 127.0.0.1.
  const std::string host = parts->host == "localhost" ? "127.0.0.1" : parts->host;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(host.c_str(), parts->port.c_str(), &wanted, &list);
  if (failure != 0)
    return error(fmt::format(messages::io::kCannotResolve, option, in_quotes(word),
                             in_quotes(parts->host), gai_strerror(failure)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  ListenAddress address;
  address.bytes = list->ai_addrlen;
  memcpy(&address.socket_address, list->ai_addr, list->ai_addrlen);
  address.loopback = is_loopback(address.socket_address);
  address.text = shown(address);
  return address;
}

Result<base::UniqueFd> listen_at(const std::string& option, const ListenAddress& address) {
  const auto failed = [&](int failure) {
    return error(fmt::format(messages::io::kCannotListen, option, address.text, why_not(failure)));
  };
  base::UniqueFd socket(
      ::socket(address.socket_address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed(errno);
  // A port whose last connections are still closing is free.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address.socket_address);
  if (bind(socket.get(), plain, address.bytes) != 0) return failed(errno);
  if (listen(socket.get(), kBacklog) != 0) return failed(errno);
  return socket;
}

}  // namespace gpuprof::support
