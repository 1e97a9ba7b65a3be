// Engine: what clients ask for, done on the store. The room's only entry point.
// Neither bytes of a protocol nor a socket may come in.
#ifndef ERS_PROXY_ENGINE_ENGINE_H_
#define ERS_PROXY_ENGINE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/rules.h"
#include "engine/census.h"
#include "engine/changing_keys.h"
#include "engine/wide_hits.h"
#include "ers/value.h"
#include "metrics/counters.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "store/membership/session.h"
#include "store/objects/store.h"
#include "store/support/content.h"
#include "store/support/memory.h"

namespace ers::proxy {

struct Done {
  Reply reply;
  std::string text;  // what reply.text points to
  // kInspect, kTransition: the lines of the list, names and values.
  std::vector<std::pair<std::string, std::string>> lines;
};

struct Gotten {
  Done done;
  Value value;
  // A hit whose value is longer than what is handed out in one piece: Stream.
  bool long_value = false;
  bool counted = false;  // servers have been told of the access
};

struct EngineLimits {
  // Longer values are streamed.
  std::uint64_t whole_below = 64 << 10;
  store::StreamWindow window{256 << 10, 4};
  // Of values that append and prepend make.
  std::uint64_t max_value_bytes = kMaxValueBytes;
  // Of stores that no rule is for.
  Scheme scheme;
  std::size_t inline_below = 0;
};

// What a value takes while it is rewritten: the old one, and the new one twice
// (its blocks are staged from one of them).
struct RewriteRoom {
  std::uint64_t old_most = 0;  // bytes of the old value
  std::uint64_t added = 0;
  [[nodiscard]] std::uint64_t bytes() const { return 3 * (old_most + added); }
};

// One per worker; any number of calls at a time. Requests outlive their calls.
// Loop thread only.
class Engine {
 public:
  // `changing` is shared by all engines of the daemon.
  Engine(store::Session& session, store::Store& store, Counters& counters,
         ChangingKeys& changing, const EngineLimits& limits = {})
      : session_(session),
        store_(store),
        counters_(counters),
        changing_(changing),
        limits_(limits) {
    SetRules(std::make_shared<const Rules>());
  }
  // The same, on another store.
  Engine(const Engine& engine, store::Store& store)
      : session_(engine.session_),
        store_(store),
        counters_(engine.counters_),
        changing_(engine.changing_),
        limits_(engine.limits_),
        board_(engine.board_),
        wide_hits_(engine.wide_hits_) {
    SetRules(engine.rules_);
  }
  [[nodiscard]] const store::Store& store() const { return store_; }

  // `memory`, here and below, is asked for what the call holds, and the call
  // gives back what it holds no more: all but what is handed out.
  net::Task<Gotten> Get(const Request& request, store::Memory& memory);
  // The value of a hit that was too long, `counted` as Get has it. `begin` is
  // called before the first byte; a failure after it means that the stream must
  // not be ended as if it were whole. kNotManaged: it has become a plain item,
  // for GetPlain.
  net::Task<Status> Stream(const Request& request, bool counted,
                           const std::function<void(const ItemInfo&)>& begin,
                           const store::AsyncSink& sink, store::Memory& memory);
  // The content's own memory is the caller's to ask for, but not an extension's
  // (append, prepend).
  net::Task<Done> Store(const Request& request, store::Content& content,
                        store::Memory& memory);
  // kDelete, kArithmetic, kTouch, kFlush, kTransition, kInspect, kDebug.
  net::Task<Done> Change(const Request& request, store::Memory& memory);
  net::Task<Gotten> GetPlain(const Request& request);
  net::Task<Done> Update(const Request& request,
                         std::span<const std::byte> bytes);
  // Calls `visit` for each object of a kList; false ends the list.
  net::Task<Done> List(
      const Request& request,
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit);

  // How a value that begins to be stored now would be coded.
  [[nodiscard]] Scheme SchemeOf(const Request& request) const;
  // Looks at every object, as long as `goes_on` says so, and publishes how
  // many there are. So does a List that nobody ends.
  net::Task<Status> CountObjects(const std::function<bool()>& goes_on);

  // Where to publish; outlives this.
  void SetCensusBoard(CensusBoard* board) { board_ = board; }
  // Where to note them, null: nowhere; outlives this.
  void SetWideHits(WideHits* hits) { wide_hits_ = hits; }
  // Of stores that begin from now on.
  void SetRules(std::shared_ptr<const Rules> rules);

  // Counts it, too.
  Done Failed(const Status& status);

 private:
  net::Task<Done> Extend(const Request& request, store::Content& content,
                         store::Memory& memory);
  net::Task<Result<std::uint64_t>> LengthOf(const Request& request);
  net::Task<Result<GetInfo>> Read(const Request& request, store::Memory& memory,
                                  Value& value, store::Access* before);
  net::Task<Done> Delete(const Request& request);
  net::Task<Done> Arithmetic(const Request& request, store::Memory& memory);
  // Gives back the memory for `room`, which the caller has taken.
  net::Task<Result<ObjectInfo>> Rewrite(const Request& request,
                                        store::Memory& memory, RewriteRoom room,
                                        const store::Store::Rewriter& rewriter);
  net::Task<Done> CreateNumber(const Request& request, store::Memory& memory);
  net::Task<Done> Touch(const Request& request);
  net::Task<Done> Flush(const Request& request);
  net::Task<Done> Transition(const Request& request, store::Memory& memory);
  net::Task<Done> Inspect(const Request& request);
  net::Task<Done> Debug(const Request& request);
  net::Task<Done> ListChanging(
      const Request& request,
      const std::function<bool(std::string_view, const ObjectInfo&)>& visit);
  net::Task<Status> TouchRead(const Request& request);
  net::Task<Gotten> Vivify(const Request& request, store::Memory& memory);
  net::Task<void> Judge(const Request& request, const ObjectInfo& info,
                        std::int64_t expiry, ItemInfo* item);
  net::Task<Status> Invalidate(const Request& request);

  void CountHit(const Request& request, const ObjectInfo& info);
  void Publish(Census census);
  [[nodiscard]] std::int64_t Now() const;
  [[nodiscard]] std::int64_t ExpiryOf(const Request& request) const;
  // What the rule for such a value makes of an expiry (Unix seconds).
  [[nodiscard]] std::int64_t Capped(const Request& request,
                                    std::uint64_t value_bytes,
                                    std::uint32_t client_flags,
                                    std::int64_t expiry) const;
  net::Task<Result<ObjectInfo>> SetExpiry(const Request& request);
  void ApplyRules(const Request& request, std::uint64_t value_bytes,
                  PutOptions& options, store::PutTerms& terms) const;
  // To the new value of an object whose scheme stays.
  void ApplyRules(const Request& request, const ObjectInfo& info,
                  store::Rewritten& rewritten) const;
  [[nodiscard]] ItemInfo ItemOf(const ObjectInfo& info) const;
  // Its exptime is over.
  [[nodiscard]] bool EndsAtOnce(const Request& request) const;
  [[nodiscard]] std::int64_t TtlOf(std::int64_t expiry) const;
  // Expiries by request.time_flags, of an item that had `expiry`, or has just
  // been created: what it has then, what t tells and what R looks at.
  struct Times {
    std::int64_t left = 0;
    std::int64_t told = 0;
    std::int64_t judged = 0;
  };
  [[nodiscard]] Times TimesOf(const Request& request, std::int64_t expiry,
                              bool created, std::uint64_t bytes,
                              std::uint32_t client_flags) const;

  store::Session& session_;
  store::Store& store_;
  Counters& counters_;
  ChangingKeys& changing_;
  const EngineLimits limits_;
  std::shared_ptr<const Rules> rules_;
  // No longer value comes with its manifest.
  std::uint64_t inline_most_ = 0;
  CensusBoard* board_ = nullptr;
  WideHits* wide_hits_ = nullptr;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_ENGINE_H_
