#include "engine/warming.h"

#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include "engine/quick_stores.h"
#include "store/format/manifest.h"
#include "store/support/content.h"
#include "store/support/wakeup.h"

namespace ers::proxy {

using net::Task;
using Kind = OldReply::Kind;

namespace {

// For the one that asks: it gives up sooner.
constexpr net::Duration kPatience = std::chrono::seconds(30);

// What a client would send that stores it.
ClientRequest RequestOf(const EngineContext& context, std::string_view key,
                        const OldReply& old) {
  ClientRequest request;
  request.operation = Operation::kStore;
  request.mode = StoreMode::kAdd;
  request.key = key;
  request.client_flags = old.client_flags;
  request.value_bytes = old.value.size();
  // As a time of day, which means the same however long this takes.
  if (old.ttl > 0) request.exptime = context.terms.Now() + old.ttl;
  return request;
}

Task<bool> StoreOld(const EngineContext& context, std::string_view key,
                    const OldReply& old, store::Memory& memory) {
  const ClientRequest request = RequestOf(context, key, old);
  const Status room = co_await memory.Take(old.value.size());
  if (!room.ok()) co_return false;
  store::MemoryContent content(std::as_bytes(std::span(old.value)));
  const StoreTerms how = StoreTermsOf(context, request);
  const Result<ObjectInfo> stored =
      co_await context.store.PutContent(key, content, how.options, how.terms);
  memory.Give(old.value.size());
  // Most likely another process was first.
  if (!stored) co_return true;
  const Result<OldReply> still = co_await context.warming->pool.Find(key);
  if (still && still->kind == Kind::kDone) {
    context.counters.Add(Counter::kWarmHits);
    co_return true;
  }
  (void)co_await context.store.Delete(key, stored->cas);
  co_return false;
}

Task<bool> AskOld(const EngineContext& context, std::string_view key,
                  store::Memory& memory) {
  const Result<OldReply> old = co_await context.warming->pool.Get(key);
  if (old && (old->kind == Kind::kMiss || old->ttl == 0)) {
    context.counters.Add(Counter::kWarmMisses);
    co_return false;
  }
  // What begins as a manifest is none of a client's values.
  if (!old || old->kind != Kind::kValue ||
      store::BeginsAsManifest(old->value)) {
    context.counters.Add(Counter::kWarmFailures);
    co_return false;
  }
  co_return co_await StoreOld(context, key, *old, memory);
}

// Before a command that goes by the value that is there.
Task<void> WarmIfAbsent(const EngineContext& context, std::string_view key,
                        store::Memory& memory) {
  Value none;
  store::ReadTerms terms;
  terms.no_bump = true;
  const Result<GetInfo> info =
      co_await context.store.GetUpTo(key, 0, none, terms);
  if (info || info.error().code() != StatusCode::kNotFound) co_return;
  (void)co_await WarmKey(context, key, memory);
}

// The old pool's value must not come back. True: there was one.
Task<bool> ForgetOld(const EngineContext& context, std::string_view key) {
  const Result<OldReply> deleted = co_await context.warming->pool.Delete(key);
  const bool answered = deleted && deleted->kind != Kind::kError;
  if (!answered) context.counters.Add(Counter::kWarmForwardFailures);
  co_return answered && deleted->kind == Kind::kDone;
}

// Whatever the value is.
bool Deletes(const ClientRequest& request) {
  return request.operation == Operation::kDelete && !request.invalidate &&
         !request.compare_cas;
}

bool Changes(const ClientRequest& request) {
  return request.has_value() || request.operation == Operation::kDelete ||
         request.operation == Operation::kArithmetic ||
         request.operation == Operation::kTouch;
}

// A set replaces whatever there is.
bool GoesByValue(const ClientRequest& request) {
  const bool sets = request.operation == Operation::kStore &&
                    request.mode == StoreMode::kSet && !request.compare_cas;
  return !sets && !Deletes(request);
}

Done RefuseFlush() {
  Done refused;
  refused.text =
      "the old pool's values would come back: take warm_from out of the "
      "settings first";
  refused.reply.outcome = ReplyStatus::kServerError;
  return refused;
}

}  // namespace

Task<bool> WarmKey(const EngineContext& context, std::string_view key,
                   store::Memory& memory) {
  Warming& warming = *context.warming;
  const std::shared_ptr<store::Wakeup> landed =
      store::Wakeup::New(warming.runtime);
  if (!warming.flights.Begin(key, landed->Callback())) {
    co_await landed->Wait(kPatience);
    co_return true;
  }
  const bool warmed = co_await AskOld(context, key, memory);
  warming.flights.End(key);
  co_return warmed;
}

Task<Done> RunWarming(const EngineContext& context,
                      const ClientRequest& request, store::Memory& memory,
                      std::function<Task<Done>()> run) {
  if (request.operation == Operation::kFlush) co_return RefuseFlush();
  // A delete goes to the old pool first: see WarmKey.
  const bool deletes = Deletes(request);
  const bool was_old = deletes && co_await ForgetOld(context, request.key);
  if (GoesByValue(request)) {
    co_await WarmIfAbsent(context, request.key, memory);
  }
  Done done = co_await run();
  if (was_old && done.reply.outcome == ReplyStatus::kNotFound) {
    done.reply.outcome = ReplyStatus::kDone;
  }
  if (!deletes && Changes(request) &&
      done.reply.outcome == ReplyStatus::kDone) {
    (void)co_await ForgetOld(context, request.key);
  }
  co_return done;
}

}  // namespace ers::proxy
