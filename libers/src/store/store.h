// Store: the operations on objects, asynchronous. One source file each.
#ifndef ERS_STORE_STORE_H_
#define ERS_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ers/client.h"
#include "net/task.h"
#include "store/manifest.h"
#include "store/session.h"

namespace ers::store {

// The operations of ers::Client (same outcomes), as tasks of one loop. Any
// number may run at the same time; arguments outlive the task; callbacks run
// on the loop thread and must not wait. Loop thread only.
class Store {
 public:
  Store(Session& session, const ClientOptions& options)
      : session_(session), options_(options) {}

  net::Task<Result<ObjectInfo>> Put(std::string_view key,
                                    std::span<const std::byte> value,
                                    const PutOptions& options);
  net::Task<Result<ObjectInfo>> PutFrom(std::string_view key,
                                        const Source& source,
                                        const PutOptions& options);
  net::Task<Result<GetInfo>> Get(std::string_view key, Value& value);
  net::Task<Result<GetInfo>> GetRange(std::string_view key,
                                      std::uint64_t offset,
                                      std::uint64_t length, Value& value);
  net::Task<Result<GetInfo>> GetTo(
      std::string_view key, const std::function<void(const GetInfo&)>& begin,
      const Sink& sink);
  net::Task<Result<ObjectInfo>> Update(std::string_view key,
                                       std::uint64_t offset,
                                       std::span<const std::byte> bytes);
  net::Task<Result<ObjectInfo>> Append(std::string_view key,
                                       const Source& source);
  net::Task<Status> Delete(std::string_view key);
  net::Task<Result<TransitionInfo>> Transition(std::string_view key,
                                               const TransitionTarget& target,
                                               TransitionVariant variant);
  net::Task<Result<ObjectDetail>> Stat(std::string_view key);
  net::Task<Status> List(
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit);
  net::Task<Result<ClusterInfo>> Servers();

 private:
  Session& session_;
  const ClientOptions options_;
};

// What a living manifest says to a user.
ObjectInfo InfoOf(const Manifest& manifest);

}  // namespace ers::store

#endif  // ERS_STORE_STORE_H_
