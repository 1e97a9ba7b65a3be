// OldLink: one loop's connection to one server of the old pool.
#ifndef ERS_PROXY_WARM_OLD_LINK_H_
#define ERS_PROXY_WARM_OLD_LINK_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "ers/options.h"
#include "ers/status.h"
#include "net/backoff.h"
#include "net/endpoint.h"
#include "net/runtime.h"
#include "net/task.h"
#include "warm/old_reply.h"

namespace ers::proxy {

struct OldLinkTerms {
  net::Duration timeout;  // from the call to the answer
  std::uint64_t max_value;
  LogSink log;
};

// Speaks meta where the server does, as that shows how long an item lives, and
// text where it does not. Connects when it is asked; while the server does not
// answer, calls fail at once, and it is tried again with backoff. Refuses a
// server of a libers cluster: its items are not values. Loop thread only; ends
// what is open when destroyed, and outlives the tasks.
class OldLink final : private net::StreamHandler {
 public:
  OldLink(net::Runtime& runtime, net::Endpoint server, OldLinkTerms terms);
  ~OldLink() override;

  // kValue, kMiss or kError. Keys are those of the text protocol.
  net::Task<Result<OldReply>> Get(std::string_view key);
  // kDone or kMiss, or kError: is it there?
  net::Task<Result<OldReply>> Find(std::string_view key);
  // kDone: it was there.
  net::Task<Result<OldReply>> Delete(std::string_view key);

 private:
  enum class Ask : std::uint8_t { kNoop, kProbe, kGet, kFind, kDelete };
  struct Call;
  enum class State : std::uint8_t { kIdle, kConnecting, kUp, kFailed };

  void OnConnected() override;
  void OnReadable() override;
  void OnWritable() override { Write(); }
  void OnFailed(const std::string& reason) override { OnClosed(reason); }

  net::Task<Result<OldReply>> Run(Ask ask, std::string_view key);
  void Connect();
  void Send(Call& call);
  void Greet(Ask ask);
  void OnReply(OldReply reply);
  void OnGreeted(Ask ask, const OldReply& reply);
  void BecomeUp();
  void Write();
  void WatchDeadline();
  void OnClosed(const std::string& reason);
  void Fail(const std::string& reason);

  net::Runtime& runtime_;
  const net::Endpoint server_;
  const OldLinkTerms terms_;
  State state_ = State::kIdle;
  bool meta_ = true;  // as long as it has not shown otherwise
  bool warned_ = false;
  net::Backoff backoff_;
  net::TimePoint try_again_;
  OldReplyParser parser_;
  std::deque<Call*> waiting_;  // for the connection
  std::deque<Call*> sent_;     // null: the link's own
  std::deque<Ask> asked_;      // of each of sent_
  std::string out_;
  std::unique_ptr<net::Timer> timer_;
  std::unique_ptr<net::Stream> stream_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_WARM_OLD_LINK_H_
