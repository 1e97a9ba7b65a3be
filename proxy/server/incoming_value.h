// IncomingValue: the value behind a request, as the store takes it.
#ifndef ERS_PROXY_SERVER_INCOMING_VALUE_H_
#define ERS_PROXY_SERVER_INCOMING_VALUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "ers/scheme.h"
#include "ers/value.h"
#include "net/task.h"
#include "protocol/request_reader.h"
#include "server/client_stream.h"
#include "server/memory.h"
#include "store/support/content.h"
#include "store/support/step_timer.h"

namespace ers::proxy {

// Reads its client's bytes as far as the store asks. Fails where the client
// leaves in the middle or ends the value wrongly: then nothing is stored.
class IncomingValue final : public store::Content {
 public:
  // `steps` may be null.
  IncomingValue(ClientStream& stream, RequestReader& reader, MemoryHold& memory,
                std::uint64_t bytes, store::StepTimer* steps)
      : stream_(stream),
        reader_(reader),
        memory_(memory),
        left_(bytes),
        unopened_(bytes),
        steps_(steps) {}

  // Takes memory as the bytes come, for them and for the parity that `scheme`
  // adds. Without this call the caller has taken it.
  void TakeMemory(const Scheme& scheme);

  Result<std::span<const std::byte>> Open(std::size_t max_bytes) override;
  // The last bytes count only once the value is known to be whole.
  net::Task<Result<std::size_t>> Fill() override;
  void Release() override;
  [[nodiscard]] std::optional<std::uint64_t> Left() const override {
    return unopened_;
  }

  // What is left is read and thrown away. False: the client left.
  net::Task<bool> Skip();
  // The end of the value was wrong.
  [[nodiscard]] bool bad() const { return bad_; }
  // Bytes that are to come.
  [[nodiscard]] std::uint64_t left() const { return left_; }

 private:
  net::Task<Status> Cover(std::uint64_t left);
  net::Task<std::size_t> Receive(std::span<std::byte> into);
  net::Task<Status> End();

  struct Part {
    Value bytes;
    std::uint64_t taken = 0;  // of the memory
    std::size_t filled = 0;
  };

  ClientStream& stream_;
  RequestReader& reader_;
  MemoryHold& memory_;
  // Memory that k bytes of the value take; 0: none is to be taken.
  std::uint64_t per_k_ = 0;
  std::uint64_t k_ = 1;
  std::uint64_t covered_ = 0;  // bytes of the newest part, still to come
  std::uint64_t left_;
  std::uint64_t unopened_;
  store::StepTimer* const steps_;
  bool over_ = false;  // reader_ is behind the value
  bool bad_ = false;
  bool gone_ = false;
  std::deque<Part> in_use_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_INCOMING_VALUE_H_
