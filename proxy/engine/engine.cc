#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/micros.h"
#include "engine/append.h"
#include "engine/arithmetic.h"
#include "engine/quick_hits.h"
#include "engine/quick_stores.h"
#include "engine/recache.h"
#include "engine/warming.h"

namespace ers::proxy {

using net::Task;

namespace {

// For what is no plain item any more.
constexpr int kReadsAgain = 3;

void ShowAccess(const store::Access& before, ItemInfo& item) {
  item.fetched = before.fetched;
  item.idle = before.idle_s;
}

}  // namespace

Engine::Engine(store::Store& store, Counters& counters, ChangingKeys& changing,
               const EngineLimits& limits)
    : context_{
          store, counters, changing, limits,
          ItemTerms([&store] { return store.WallMicros() / kMicrosPerSecond; },
                    limits.scheme, limits.inline_below)} {}

Engine::Engine(const Engine& engine, store::Store& store)
    : context_{store,
               engine.context_.counters,
               engine.context_.changing,
               engine.context_.limits,
               engine.context_.terms,
               engine.context_.board,
               engine.context_.hits,
               engine.context_.warming} {}

// The rule goes by what the object is, which only the store knows.
Task<Result<ObjectInfo>> Engine::SetExpiry(const ClientRequest& request) {
  const std::int64_t expiry = context_.terms.ExpiryOf(request);
  const store::Store::MetadataUpdater touch = [&](const ObjectInfo& info) {
    store::MetadataUpdate update;
    update.expiry =
        context_.terms.Capped(request, info.length, info.client_flags, expiry);
    return update;
  };
  co_return co_await context_.store.UpdateMetadata(request.key, touch,
                                                   /*no_bump=*/false);
}

// gat and its like: what is read gets the new expiry. False: it is gone.
Task<Status> Engine::TouchRead(const ClientRequest& request) {
  context_.counters.Add(Counter::kCmdTouch);
  const Result<ObjectInfo> touched = co_await SetExpiry(request);
  context_.counters.Add(touched ? Counter::kTouchHits : Counter::kTouchMisses);
  if (!touched) co_return touched.error();
  co_return Status();
}

// An item that was there before the proxy came: served as it is, until a set
// makes an object of it.
Task<Gotten> Engine::GetPlain(const ClientRequest& request,
                              store::Memory& memory) {
  Gotten gotten;
  const Result<store::PlainItem> plain =
      co_await context_.store.GetPlain(request.key, gotten.value, &memory);
  if (!plain) {
    gotten.done = context_.Failed(plain.error());
    co_return gotten;
  }
  context_.counters.Add(Counter::kGetHits);
  ItemInfo& item = gotten.done.reply.item;
  item.bytes = gotten.value.size();
  item.client_flags = plain->client_flags;
  item.cas = plain->cas;
  item.ttl = plain->ttl;
  co_return gotten;
}

// The value, where it is short; memory is taken for what comes.
Task<Result<GetInfo>> Engine::Read(const ClientRequest& request,
                                   store::Memory& memory, Value& value,
                                   store::ReadTerms terms,
                                   std::optional<std::uint64_t> known) {
  if (!request.want_value) {
    co_return co_await context_.store.GetUpTo(request.key, 0, value, terms);
  }
  std::uint64_t most =
      std::min(std::max(known.value_or(0), context_.terms.inline_most()),
               context_.limits.whole_below);
  for (;;) {
    // Beside the value the blocks of its parity are read where one is lost.
    const std::uint64_t taken =
        2 * std::max(most, context_.terms.inline_most());
    if (!memory.TryTake(taken)) {
      Status room = co_await memory.Take(taken);
      if (!room.ok()) co_return Fail(std::move(room));
      // The lease and the time that it began under may be over.
      terms.begun = nullptr;
    }
    Result<GetInfo> info =
        co_await context_.store.GetUpTo(request.key, most, value, terms);
    memory.Give(taken - std::min<std::uint64_t>(taken, value.size()));
    const bool longer = info && info->length > most &&
                        info->length <= context_.limits.whole_below;
    if (!longer || value.size() > 0) co_return info;
    most = context_.limits.whole_below;
    // The same access still.
    terms.no_bump = true;
    terms.before = nullptr;
    terms.begun = nullptr;
  }
}

Task<Result<GetInfo>> Engine::ReadOrWarm(const ClientRequest& request,
                                         store::Memory& memory, Value& value,
                                         store::ReadTerms terms,
                                         std::optional<std::uint64_t> known) {
  Result<GetInfo> info = co_await Read(request, memory, value, terms, known);
  const bool missed = !info && info.error().code() == StatusCode::kNotFound;
  if (context_.warming == nullptr || !missed) co_return info;
  if (!co_await WarmKey(context_, request.key, memory)) co_return info;
  terms.begun = nullptr;
  co_return co_await Read(request, memory, value, terms, std::nullopt);
}

Task<Gotten> Engine::Get(const ClientRequest& request, store::Memory& memory,
                         store::QuickGet* begun) {
  Gotten gotten;
  if (begun == nullptr) context_.counters.Add(Counter::kCmdGet);
  const std::optional<std::uint64_t> known =
      context_.LengthToStream(request.key);
  const bool only_reads = !request.exptime && !request.vivify &&
                          request.style.dialect != Dialect::kMeta;
  if (begun == nullptr && only_reads && request.want_value &&
      known.value_or(0) > context_.limits.whole_below) {
    gotten.long_value = true;
    co_return gotten;
  }
  // Reported as of before this access counts, as memcached does.
  store::Access before;
  const bool reports_access =
      request.style.return_flags.find_first_of("hl") != std::string::npos;
  store::ReadTerms terms{request.no_bump, reports_access ? &before : nullptr,
                         begun};
  Result<GetInfo> info =
      co_await ReadOrWarm(request, memory, gotten.value, terms, known);
  gotten.counted = true;
  for (int i = 0; !info && info.error().code() == StatusCode::kNotManaged;
       ++i) {
    gotten = co_await GetPlain(request, memory);
    ShowAccess(before, gotten.done.reply.item);
    // Gone since: perhaps because it is an object now.
    const bool gone = gotten.done.reply.outcome == ReplyStatus::kNotFound;
    if (!gone || i == kReadsAgain) co_return gotten;
    gotten = Gotten();
    gotten.counted = true;
    terms.begun = nullptr;
    info = co_await Read(request, memory, gotten.value, terms, std::nullopt);
  }
  if (!info) {
    if (info.error().code() == StatusCode::kNotFound) {
      context_.counters.Add(Counter::kGetMisses);
      if (request.vivify) {
        std::optional<Gotten> made = co_await Vivify(context_, request);
        if (made) co_return std::move(*made);
        co_return co_await Get(request, memory);
      }
    }
    gotten.done = context_.Failed(info.error());
    co_return gotten;
  }
  ItemInfo& item = gotten.done.reply.item;
  item = context_.ItemOf(*info);
  ShowAccess(before, item);
  if (request.style.dialect == Dialect::kMeta) {
    const ItemTerms::Times times =
        context_.terms.TimesOf(request, info->expiry, /*created=*/false,
                               info->length, info->client_flags);
    item.ttl = context_.terms.TtlOf(times.reported);
    co_await Judge(context_, request, *info, times.judged, item);
  }
  gotten.long_value = request.want_value && info->length > gotten.value.size();
  if (request.exptime &&
      !(gotten.long_value && context_.terms.EndsAtOnce(request))) {
    const Status touched = co_await TouchRead(request);
    if (!touched.ok()) {
      gotten.long_value = false;
      gotten.done = context_.Failed(touched);
      co_return gotten;
    }
  }
  if (gotten.long_value) co_return gotten;
  CountHit(context_, request, info->width);
  co_return gotten;
}

Task<Status> Engine::Stream(const ClientRequest& request, bool counted,
                            const std::function<void(const ItemInfo&)>& begin,
                            const store::AsyncSink& sink,
                            store::Memory& memory) {
  store::StreamWindow window = context_.limits.window;
  window.memory = &memory;
  window.no_bump = counted;
  const store::StreamBegin first = [&](const GetInfo& info) {
    CountHit(context_, request, info.width);
    begin(context_.ItemOf(info));
  };
  const Result<GetInfo> info =
      co_await context_.store.Stream(request.key, window, first, sink);
  if (!info) {
    if (info.error().code() == StatusCode::kNotFound) {
      context_.counters.Add(Counter::kGetMisses);
    }
    co_return info.error();
  }
  // What ends at once is handed out first.
  if (context_.terms.EndsAtOnce(request)) {
    const Status touched = co_await TouchRead(request);
    const bool gone = touched.code() == StatusCode::kNotFound;
    if (!touched.ok() && !gone) co_return touched;
  }
  co_return Status();
}

Task<Done> Engine::Store(const ClientRequest& request, store::Content& content,
                         store::Memory& memory, store::QuickPut* begun) {
  if (context_.warming == nullptr) {
    return StoreHere(request, content, memory, begun);
  }
  return RunWarming(context_, request, memory, [&, this] {
    return StoreHere(request, content, memory, nullptr);
  });
}

Task<Done> Engine::StoreHere(const ClientRequest& request,
                             store::Content& content, store::Memory& memory,
                             store::QuickPut* begun) {
  if (begun == nullptr) context_.counters.Add(Counter::kCmdSet);
  if (request.mode == StoreMode::kAppend ||
      request.mode == StoreMode::kPrepend) {
    co_return co_await AppendOrPrepend(context_, request, content, memory);
  }
  const StoreTerms how = StoreTermsOf(context_, request);
  Task<Result<ObjectInfo>> put =
      begun != nullptr ? begun->Finish()
                       : context_.store.PutContent(request.key, content,
                                                   how.options, how.terms);
  const Result<ObjectInfo> stored = co_await std::move(put);
  if (request.compare_cas) {
    const StatusCode code = stored ? StatusCode::kOk : stored.error().code();
    if (code == StatusCode::kOk) context_.counters.Add(Counter::kCasHits);
    if (code == StatusCode::kNotFound)
      context_.counters.Add(Counter::kCasMisses);
    if (code == StatusCode::kConflict)
      context_.counters.Add(Counter::kCasBadval);
  }
  if (!stored) {
    Done done = context_.Failed(stored.error());
    const bool refused = done.reply.outcome == ReplyStatus::kNotFound ||
                         done.reply.outcome == ReplyStatus::kExists;
    if (refused && !request.compare_cas) {
      done.reply.outcome = ReplyStatus::kNotStored;
    }
    co_return done;
  }
  Done done;
  done.reply.item = context_.ItemOf(*stored);
  co_return done;
}

Task<Done> Engine::Update(const ClientRequest& request,
                          std::span<const std::byte> bytes,
                          store::Memory& memory) {
  if (context_.warming == nullptr) return UpdateHere(request, bytes);
  return RunWarming(context_, request, memory, [this, &request, bytes] {
    return UpdateHere(request, bytes);
  });
}

Task<Done> Engine::UpdateHere(const ClientRequest& request,
                              std::span<const std::byte> bytes) {
  const Result<ObjectInfo> updated =
      co_await context_.store.Update(request.key, request.offset, bytes);
  if (!updated) co_return context_.Failed(updated.error());
  Done done;
  done.reply.item = context_.ItemOf(*updated);
  co_return done;
}

Task<Done> Engine::Change(const ClientRequest& request, store::Memory& memory) {
  if (context_.warming == nullptr) return ChangeHere(request, memory);
  return RunWarming(context_, request, memory,
                    [&, this] { return ChangeHere(request, memory); });
}

Task<Done> Engine::ChangeHere(const ClientRequest& request,
                              store::Memory& memory) {
  switch (request.operation) {
    case Operation::kDelete:
      return Delete(request);
    case Operation::kArithmetic:
      return Arithmetic(context_, request, memory);
    case Operation::kTouch:
      return Touch(request);
    case Operation::kFlush:
      return Flush(request);
    case Operation::kTransition:
      return TransitionObject(context_, request, memory);
    case Operation::kInspect:
      return InspectObject(context_, request);
    case Operation::kDebug:
      return Debug(request);
    case Operation::kGet:
    case Operation::kEndOfGets:
    case Operation::kStore:
    case Operation::kUpdate:
    case Operation::kStats:
    case Operation::kVersion:
    case Operation::kVerbosity:
    case Operation::kNoop:
    case Operation::kQuit:
    case Operation::kList:
      break;  // none of them Runs::kChange or kAlone
  }
  return Task<Done>::Ready(
      context_.Failed(Status(StatusCode::kInvalidArgument, "not a change")));
}

Task<Done> Engine::List(const ClientRequest& request, const Listing& visit) {
  return ListObjects(context_, request, visit);
}

Task<Status> Engine::CountObjects(const std::function<bool()>& goes_on) {
  return proxy::CountObjects(context_, goes_on);
}

Task<Done> Engine::Delete(const ClientRequest& request) {
  Status status;
  if (request.invalidate) {
    status = co_await Invalidate(request);
  } else if (request.compare_cas == 0) {
    status = Status(StatusCode::kConflict, "no object has the CAS 0");
  } else {
    status = co_await context_.store.Delete(request.key,
                                            request.compare_cas.value_or(0));
  }
  if (status.ok()) context_.counters.Add(Counter::kDeleteHits);
  if (status.code() == StatusCode::kNotFound) {
    context_.counters.Add(Counter::kDeleteMisses);
  }
  co_return status.ok() ? Done() : context_.Failed(status);
}

// The item stays, for clients that take a stale one; the next of them wins.
Task<Status> Engine::Invalidate(const ClientRequest& request) {
  const auto invalidate = [&](const ObjectInfo& info) {
    store::MetadataUpdate update;
    if (request.compare_cas && info.cas != *request.compare_cas) {
      update.status = Status(StatusCode::kConflict, "another CAS");
    }
    update.stale = true;
    update.won = false;
    update.new_cas = true;
    if (request.exptime) {
      update.expiry =
          context_.terms.Capped(request, info.length, info.client_flags,
                                context_.terms.ExpiryOf(request));
    }
    return update;
  };
  const Result<ObjectInfo> done =
      co_await context_.store.UpdateMetadata(request.key, invalidate);
  co_return done ? Status() : done.error();
}

Task<Done> Engine::Touch(const ClientRequest& request) {
  context_.counters.Add(Counter::kCmdTouch);
  const Result<ObjectInfo> touched = co_await SetExpiry(request);
  context_.counters.Add(touched ? Counter::kTouchHits : Counter::kTouchMisses);
  if (!touched) co_return context_.Failed(touched.error());
  Done done;
  done.reply.item = context_.ItemOf(*touched);
  co_return done;
}

Task<Done> Engine::Flush(const ClientRequest& request) {
  context_.counters.Add(Counter::kCmdFlush);
  std::uint64_t at = store::kAtOnce;
  if (request.exptime.value_or(0) > 0) {
    at = static_cast<std::uint64_t>(context_.terms.ExpiryOf(request) *
                                    kMicrosPerSecond);
  }
  const Status status = co_await context_.store.Flush(at);
  co_return status.ok() ? Done() : context_.Failed(status);
}

Task<Done> Engine::Debug(const ClientRequest& request) {
  Value none;
  store::Access access;
  store::ReadTerms terms;
  terms.no_bump = true;
  terms.before = &access;
  const Result<GetInfo> info =
      co_await context_.store.GetUpTo(request.key, 0, none, terms);
  if (!info) co_return context_.Failed(info.error());
  Done done;
  done.reply.item = context_.ItemOf(*info);
  ShowAccess(access, done.reply.item);
  co_return done;
}

}  // namespace ers::proxy
