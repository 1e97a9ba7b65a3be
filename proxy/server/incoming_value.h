// IncomingValue: the value behind a request, as the store takes it.
#ifndef ERS_PROXY_SERVER_INCOMING_VALUE_H_
#define ERS_PROXY_SERVER_INCOMING_VALUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "ers/value.h"
#include "server/connection.h"
#include "store/content.h"
#include "store/step_timer.h"

namespace ers::proxy {

// Reads its connection as far as the store asks. Fails where the client leaves
// in the middle or ends the value wrongly: then nothing is stored.
class IncomingValue final : public store::Content {
 public:
  // `steps` may be null.
  IncomingValue(Connection& connection, std::uint64_t bytes,
                store::StepTimer* steps)
      : connection_(connection), left_(bytes), steps_(steps) {}

  net::Task<Result<std::span<const std::byte>>> Next(std::size_t most) override;
  [[nodiscard]] std::optional<std::uint64_t> Left() const override {
    return left_;
  }
  void Release() override;

  // What is left is read and thrown away. False: the client left.
  net::Task<bool> Skip();
  // The end of the value was wrong.
  [[nodiscard]] bool bad() const { return bad_; }

 private:
  net::Task<Status> Fill(std::span<std::byte> into);
  net::Task<Status> End();

  Connection& connection_;
  std::uint64_t left_;
  store::StepTimer* const steps_;
  bool over_ = false;  // the connection's reader is behind the value
  bool bad_ = false;
  bool gone_ = false;
  std::deque<Value> in_use_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_SERVER_INCOMING_VALUE_H_
