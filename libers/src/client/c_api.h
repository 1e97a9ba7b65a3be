// Inside of ers/ers.h: what its handles hold, and the frame around each call.
#ifndef ERS_SRC_CLIENT_C_API_H_
#define ERS_SRC_CLIENT_C_API_H_

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "ers/client.h"
#include "ers/ers.h"

struct ers_cluster {
  std::shared_ptr<ers::Cluster> cluster;
};

struct ers_client {
  std::unique_ptr<ers::Client> client;
  std::string error;
  // Said instead of `error` where there is no memory for a sentence.
  const char* fixed_error = nullptr;
};

struct ers_value {
  ers::Value value;
};

namespace ers::c_api {

// What an exception inside a call means. A change may have been sent.
enum class CallKind { kReads, kChanges };

ers_status ToC(StatusCode code);
// ers_object_info of `info`; a GetInfo fills the last two members too.
ers_path ToC(TransitionPath path);
void ToC(const ObjectInfo& info, ers_object_info* out);
void ToC(const GetInfo& info, ers_object_info* out);
// False: `variant` is no number of its enumeration.
bool FromC(ers_variant variant, TransitionVariant* out);
Result<PutOptions> FromC(const ers_put_options* options);

// The key of a call, or kInvalidArgument for a null pointer.
Result<std::string_view> KeyOf(const char* key, std::size_t key_bytes);
// kInvalidArgument: "`name` must not be NULL".
Status NullArgument(const char* name);

// Records what an exception means in `client`.
ers_status RecordException(ers_client* client, CallKind kind) noexcept;

// Runs `body`, which returns a Status, and keeps its sentence for
// ers_last_error. Nothing thrown inside gets out.
template <typename Body>
ers_status Call(ers_client* client, CallKind kind, const Body& body) noexcept {
  if (client == nullptr) return ERS_INVALID_ARGUMENT;
  try {
    client->error.clear();
    client->fixed_error = nullptr;
    const Status status = body(*client->client);
    client->error = status.message();
    return ToC(status.code());
  } catch (...) {
    return RecordException(client, kind);
  }
}

// The failing side of a Result, or OK.
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.has_value() ? Status() : result.error();
}

// The same, handing the value over to `*out` (may be null).
template <typename T, typename Out>
Status Deliver(const Result<T>& result, Out* out) {
  if (result.has_value() && out != nullptr) ToC(*result, out);
  return StatusOf(result);
}

}  // namespace ers::c_api

#endif  // ERS_SRC_CLIENT_C_API_H_
