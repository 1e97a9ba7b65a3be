// Resolver: the addresses of host names, resolved on threads of its own: the
// system's resolver may take as long as it likes, and loops do not wait for it.
#ifndef ERS_NET_RESOLVER_H_
#define ERS_NET_RESOLVER_H_

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/endpoint.h"
#include "net/runtime.h"

namespace ers::net {

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  bool operator==(const Address& other) const;
};

struct Resolved {
  std::vector<Address> addresses;
  // Without addresses: why, and whether that was the answer or none came.
  std::string error;
  bool answered = true;
};

// Of a unix socket or of numbers: they need no resolving. Else empty.
std::vector<Address> PlainAddresses(const Endpoint& endpoint);

// Any thread. Threads that still resolve something do not keep it, or the
// process, from its end.
class Resolver {
 public:
  // Blocks; any thread.
  using Resolve = std::function<Resolved(const Endpoint&)>;
  // For so long an answer is good, also while it is resolved again.
  static constexpr Duration kFresh = std::chrono::seconds(30);
  // So long an answer is waited for where there is one from before.
  static constexpr Duration kPatience = std::chrono::milliseconds(100);
  // So long a starting process waits for names that it does not know: the
  // system's resolver asks its second server, or again, after 5 s.
  static constexpr Duration kAtStart = std::chrono::seconds(6);

  // By the system's resolver. A child after fork(2) has another one.
  static Resolver& OfProcess();

  explicit Resolver(Resolve resolve);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // `done` is not called after its end, which is before its loop's.
  class Query {
   public:
    virtual ~Query() = default;
  };
  // Resolves `endpoint`'s name, and calls `done` once from the loop, never from
  // inside: with what was found, or with what was known before while no answer
  // comes. The first query for a name waits for as long as it takes.
  std::unique_ptr<Query> Ask(Runtime& runtime, const Endpoint& endpoint,
                             std::function<void(const Resolved&)> done);
  // It did not connect there: the others are to be tried before, the next time.
  void PutLast(const Endpoint& endpoint, const Address& address);

  // Resolves those of `endpoints` that have names, and waits until all are
  // known, or are known not to be, for `limit` at most.
  void Prepare(const std::vector<Endpoint>& endpoints, Duration limit);

 private:
  struct State;
  class Asked;
  std::shared_ptr<State> state_;  // the threads keep it, too
};

// A stream that cannot be made before its host's name is resolved.
class AwaitsName {
 public:
  virtual ~AwaitsName() = default;
  [[nodiscard]] virtual bool Resolving() const = 0;
};

}  // namespace ers::net

#endif  // ERS_NET_RESOLVER_H_
