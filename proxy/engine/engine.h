// Engine: what clients ask for, done on the store. The room's only entry point.
// Neither bytes of a protocol nor a socket may come in. It has memcached's
// plain commands; each other group of commands is a file of its own over the
// context.
#ifndef ERS_PROXY_ENGINE_ENGINE_H_
#define ERS_PROXY_ENGINE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "config/rules.h"
#include "engine/context.h"
#include "engine/done.h"
#include "engine/ers_commands.h"
#include "ers/value.h"
#include "metrics/counters.h"
#include "net/task.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "store/objects/store.h"
#include "store/support/content.h"
#include "store/support/memory.h"

namespace ers::proxy {

// One per worker; any number of calls at a time. Requests outlive their calls.
// Loop thread only.
class Engine {
 public:
  Engine(store::Store& store, Counters& counters, ChangingKeys& changing,
         const EngineLimits& limits = {});
  // The same, on another store of the same loop.
  Engine(const Engine& engine, store::Store& store);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] const store::Store& store() const { return context_.store; }

  // `memory`, here and below, is asked for what the call holds, and the call
  // gives back what it holds no more: all but what is handed out.
  net::Task<Gotten> Get(const ClientRequest& request, store::Memory& memory,
                        store::QuickGet* begun = nullptr);
  // What the quick ways work on: `begun`, above and below, is theirs.
  [[nodiscard]] const EngineContext& context() const { return context_; }
  // The value of a hit that was too long, `counted` as Get has it. `begin` is
  // called before the first byte; a failure after it means that the stream must
  // not be ended as if it were whole. kNotManaged: it has become a plain item,
  // for GetPlain.
  net::Task<Status> Stream(const ClientRequest& request, bool counted,
                           const std::function<void(const ItemInfo&)>& begin,
                           const store::AsyncSink& sink, store::Memory& memory);
  // The content's own memory is the caller's to ask for, but not an extension's
  // (append, prepend).
  net::Task<Done> Store(const ClientRequest& request, store::Content& content,
                        store::Memory& memory,
                        store::QuickPut* begun = nullptr);
  // kDelete, kArithmetic, kTouch, kFlush, kTransition, kInspect, kDebug.
  net::Task<Done> Change(const ClientRequest& request, store::Memory& memory);
  net::Task<Gotten> GetPlain(const ClientRequest& request,
                             store::Memory& memory);
  net::Task<Done> Update(const ClientRequest& request,
                         std::span<const std::byte> bytes,
                         store::Memory& memory);
  // Calls `visit` for each object of a kList; false ends the list.
  net::Task<Done> List(const ClientRequest& request, const Listing& visit);

  // How a value that begins to be stored now would be coded.
  [[nodiscard]] Scheme SchemeOf(const ClientRequest& request) const {
    return context_.terms.SchemeOf(request);
  }
  // Reads every object, as long as `goes_on` says so, and publishes how
  // many there are. So does a List that is not ended.
  net::Task<Status> CountObjects(const std::function<bool()>& goes_on);

  // Where to publish; outlives this.
  void SetCensusBoard(CensusBoard* board) { context_.board = board; }
  // Where to note them, null: nowhere; outlives this.
  void SetWideHits(WideHits* hits) { context_.hits = hits; }
  // Asked on a miss, null: nothing; outlives this.
  void SetWarming(Warming* warming) { context_.warming = warming; }
  // Where to note what is found or stored from now on; outlives this.
  void SetTracedObject(std::optional<TracedObject>* object) {
    context_.traced_object = object;
  }
  // Of stores that begin from now on.
  void SetRules(std::shared_ptr<const Rules> rules) {
    context_.terms.SetRules(std::move(rules));
  }

 private:
  // `known`: how long the value was when it was last seen.
  net::Task<Result<GetInfo>> Read(const ClientRequest& request,
                                  store::Memory& memory, Value& value,
                                  store::ReadTerms terms,
                                  std::optional<std::uint64_t> known);
  net::Task<Status> TouchRead(const ClientRequest& request);

  // The same; a miss is warmed where there is an old pool.
  net::Task<Result<GetInfo>> ReadOrWarm(const ClientRequest& request,
                                        store::Memory& memory, Value& value,
                                        store::ReadTerms terms,
                                        std::optional<std::uint64_t> known);
  // Without what an old pool has to do with it.
  net::Task<Done> StoreHere(const ClientRequest& request,
                            store::Content& content, store::Memory& memory,
                            store::QuickPut* begun);
  net::Task<Done> ChangeHere(const ClientRequest& request,
                             store::Memory& memory);
  net::Task<Done> UpdateHere(const ClientRequest& request,
                             std::span<const std::byte> bytes);

  net::Task<Done> Delete(const ClientRequest& request);
  net::Task<Status> Invalidate(const ClientRequest& request);
  net::Task<Done> Touch(const ClientRequest& request);
  net::Task<Result<ObjectInfo>> SetExpiry(const ClientRequest& request);
  net::Task<Done> Flush(const ClientRequest& request);
  net::Task<Done> Debug(const ClientRequest& request);

  EngineContext context_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_ENGINE_H_
