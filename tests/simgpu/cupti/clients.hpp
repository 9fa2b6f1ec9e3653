// SPDX-License-Identifier: Apache-2.0
//
// Who is calling: one CUPTI state for everybody, or one for each calling shared object.
//
// Context:  any
// Owns:     the list of clients; what `of_client` makes, leaked
// Promises: with GPUSIM_CUPTI=one (the default, as the real v1 interface) there is exactly one
//           client; more than kMaxClients callers share the last
// Not here: what a client has (state.hpp, buffers.cpp, delivery.cpp, cupti_clock.cpp)
#pragma once

namespace gpusim {

constexpr int kMaxClients = 8;

/// The client whose turn it is on this thread: the caller of the entry point, or the one a loop or
/// a worker has chosen.
int current_client();

/// Number of clients seen so far, at least 1.
int client_count();

/// The client that an entry point's return address belongs to. A function that calls an entry point
/// as its last step may be replaced by a jump; the call then counts as its caller's.
int client_of(const void* return_address);

/// Makes a client current on this thread until the scope ends.
class ClientScope {
 public:
  explicit ClientScope(int client);
  ~ClientScope();
  ClientScope(const ClientScope&) = delete;
  ClientScope& operator=(const ClientScope&) = delete;

 private:
  int before_;
};

/// Runs `body` once for every client, with that client current.
template <typename Body>
void for_each_client(Body&& body) {
  const int count = client_count();
  for (int i = 0; i < count; ++i) {
    const ClientScope scope(i);
    body();
  }
}

/// The current client's own T. One T a client is made at the first use and never destroyed.
template <typename T>
T& of_client() {
  static T* const all = new T[kMaxClients]();
  return all[current_client()];
}

}  // namespace gpusim
