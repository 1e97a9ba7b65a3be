#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/micros.h"
#include "protocol/exptime.h"

namespace ers::proxy {

using net::Task;

namespace {

// For what is no plain item any more.
constexpr int kLooksAgain = 3;

void TellAccess(const store::Access& before, ItemInfo& item) {
  item.fetched = before.fetched;
  item.idle = before.idle_s;
}

}  // namespace

Done Engine::Failed(const Status& status) {
  Done done;
  done.text = status.message();
  switch (status.code()) {
    case StatusCode::kNotFound:
      done.reply.outcome = Outcome::kNotFound;
      return done;
    case StatusCode::kConflict:
      done.reply.outcome = Outcome::kExists;
      return done;
    case StatusCode::kAlreadyThere:
      done.reply.outcome = Outcome::kAlreadyThere;
      return done;
    case StatusCode::kTooLarge:
      done.reply.outcome = Outcome::kTooLarge;
      return done;
    case StatusCode::kNoMemory:
      done.reply.outcome = Outcome::kNoMemory;
      break;
    case StatusCode::kInvalidArgument:
      done.reply.outcome = Outcome::kClientError;
      return done;
    case StatusCode::kOk:
    case StatusCode::kUnavailable:
    case StatusCode::kOutcomeUnknown:
    case StatusCode::kCorruption:
    case StatusCode::kUnsupportedFormat:
    case StatusCode::kNotManaged:
    case StatusCode::kIncompatible:
      done.reply.outcome = Outcome::kServerError;
      break;
  }
  counters_.Add(Counter::kServerErrors);
  return done;
}

std::int64_t Engine::Now() const {
  return session_.WallMicros() / kMicrosPerSecond;
}

std::int64_t Engine::ExpiryOf(const Request& request) const {
  return proxy::ExpiryOf(request.exptime.value_or(0), Now());
}

void Engine::SetRules(std::shared_ptr<const Rules> rules) {
  rules_ = std::move(rules);
  inline_most_ = limits_.inline_below;
  for (const Rule& rule : rules_->list) {
    inline_most_ =
        std::max<std::uint64_t>(inline_most_, rule.inline_below.value_or(0));
  }
}

Scheme Engine::SchemeOf(const Request& request) const {
  const Rule* rule =
      rules_->Match(request.key, request.value_bytes, request.client_flags);
  return rule != nullptr && rule->scheme ? *rule->scheme : limits_.scheme;
}

void Engine::ApplyRules(const Request& request, std::uint64_t value_bytes,
                        PutOptions& options, store::PutTerms& terms) const {
  const Rule* rule =
      rules_->Match(request.key, value_bytes, options.client_flags);
  if (rule == nullptr) return;
  options.scheme = rule->scheme;
  terms.inline_below = rule->inline_below;
  options.expiry = CappedExpiry(*rule, options.expiry, Now());
}

void Engine::ApplyRules(const Request& request, const ObjectInfo& info,
                        store::Rewritten& rewritten) const {
  const Rule* rule =
      rules_->Match(request.key, rewritten.value.size(), info.client_flags);
  if (rule == nullptr) return;
  rewritten.inline_below = rule->inline_below;
  rewritten.expiry =
      CappedExpiry(*rule, rewritten.expiry.value_or(info.expiry), Now());
}

std::int64_t Engine::Capped(const Request& request, std::uint64_t value_bytes,
                            std::uint32_t client_flags,
                            std::int64_t expiry) const {
  const Rule* rule = rules_->Match(request.key, value_bytes, client_flags);
  return rule == nullptr ? expiry : CappedExpiry(*rule, expiry, Now());
}

// The rule goes by what the object is, which only the store knows.
Task<Result<ObjectInfo>> Engine::SetExpiry(const Request& request) {
  const std::int64_t expiry = ExpiryOf(request);
  const store::Store::MetadataUpdater touch = [&](const ObjectInfo& info) {
    store::MetadataUpdate update;
    update.expiry = Capped(request, info.length, info.client_flags, expiry);
    return update;
  };
  co_return co_await store_.UpdateMetadata(request.key, touch,
                                           /*no_bump=*/false);
}

ItemInfo Engine::ItemOf(const ObjectInfo& info) const {
  ItemInfo item;
  item.bytes = info.length;
  item.client_flags = info.client_flags;
  item.cas = info.cas;
  item.ttl = TtlOf(info.expiry);
  return item;
}

// gat and its like: what is read gets the new expiry. False: it is gone.
Task<Status> Engine::TouchRead(const Request& request) {
  counters_.Add(Counter::kCmdTouch);
  const Result<ObjectInfo> touched = co_await SetExpiry(request);
  counters_.Add(touched ? Counter::kTouchHits : Counter::kTouchMisses);
  if (!touched) co_return touched.error();
  co_return Status();
}

// A miss that leaves an empty item behind, which this client is to fill.
Task<Gotten> Engine::Vivify(const Request& request, store::Memory& memory) {
  Gotten gotten;
  store::MemoryContent nothing({});
  PutOptions options;
  const Times times = TimesOf(request, 0, /*created=*/true, 0, 0);
  options.expiry = times.left;
  store::PutTerms terms;
  ApplyRules(request, 0, options, terms);
  terms.condition = store::PutCondition::kAbsent;
  terms.new_cas = request.new_cas;
  terms.won = true;
  const Result<ObjectInfo> made =
      co_await store_.PutContent(request.key, nothing, options, terms);
  if (!made) {
    // A rival made it first: then there is something to get.
    if (made.error().code() == StatusCode::kConflict) {
      co_return co_await Get(request, memory);
    }
    gotten.done = Failed(made.error());
    co_return gotten;
  }
  gotten.done.reply.item = ItemOf(*made);
  gotten.done.reply.item.ttl = TtlOf(times.told);
  gotten.done.reply.item.won = true;
  gotten.done.reply.created = true;
  co_return gotten;
}

// Who is to put a new value: one client of those that see the item stale or
// near its end (protocol.txt, "Stale items").
Task<void> Engine::Judge(const Request& request, const ObjectInfo& info,
                         std::int64_t expiry, ItemInfo* item) {
  item->stale = info.stale;
  item->another_won = info.won;
  const std::int64_t seconds = Now();
  // What is over is over for all: none ends before it.
  const std::int64_t last =
      request.recache ? proxy::ExpiryOf(*request.recache, seconds) : 0;
  const bool near_end = last > seconds && expiry != 0 && expiry < last;
  if (info.won || !(info.stale || near_end)) co_return;
  const std::uint64_t cas = info.cas;
  const auto win = [cas](const ObjectInfo& now) {
    store::MetadataUpdate update;
    if (now.won || now.cas != cas) {
      update.status = Status(StatusCode::kConflict, "another won");
    } else {
      update.won = true;
    }
    return update;
  };
  const Result<ObjectInfo> won =
      co_await store_.UpdateMetadata(request.key, win);
  item->won = won.has_value();
  item->another_won = !won;
}

// An item that was there before the proxy came: served as it is, until a set
// makes an object of it.
Task<Gotten> Engine::GetPlain(const Request& request) {
  Gotten gotten;
  session_.manifests().Erase(request.key);
  const Result<store::PlainItem> plain =
      co_await store_.GetPlain(request.key, gotten.value);
  if (!plain) {
    gotten.done = Failed(plain.error());
    co_return gotten;
  }
  counters_.Add(Counter::kGetHits);
  ItemInfo& item = gotten.done.reply.item;
  item.bytes = gotten.value.size();
  item.client_flags = plain->client_flags;
  item.cas = plain->cas;
  item.ttl = plain->ttl;
  co_return gotten;
}

// How long the value is, as far as is known: to be looked at again.
Task<Result<std::uint64_t>> Engine::LengthOf(const Request& request) {
  const auto known = session_.manifests().Find(request.key);
  if (known) co_return known->length;
  Value none;
  store::ReadTerms terms;
  terms.no_bump = true;
  const Result<GetInfo> info =
      co_await store_.GetUpTo(request.key, 0, none, terms);
  if (!info) co_return Fail(info.error());
  co_return info->length;
}

// The value, where it is short; memory is taken for what comes.
Task<Result<GetInfo>> Engine::Read(const Request& request,
                                   store::Memory& memory, Value& value,
                                   store::Access* before) {
  store::ReadTerms terms;
  terms.no_bump = request.no_bump;
  terms.before = before;
  if (!request.want_value) {
    co_return co_await store_.GetUpTo(request.key, 0, value, terms);
  }
  const auto known = session_.manifests().Find(request.key);
  std::uint64_t most = known && !known->is_inline ? known->length : 0;
  most = std::min(std::max(most, inline_most_), limits_.whole_below);
  for (;;) {
    // Beside the value the blocks of its parity are read where one is lost.
    const std::uint64_t taken = 2 * std::max(most, inline_most_);
    if (!memory.TryTake(taken)) {
      Status room = co_await memory.Take(taken);
      if (!room.ok()) co_return Fail(std::move(room));
    }
    Result<GetInfo> info =
        co_await store_.GetUpTo(request.key, most, value, terms);
    memory.Give(taken - std::min<std::uint64_t>(taken, value.size()));
    const bool longer =
        info && info->length > most && info->length <= limits_.whole_below;
    if (!longer || value.size() > 0) co_return info;
    most = limits_.whole_below;
    // The same access still.
    terms.no_bump = true;
    terms.before = nullptr;
  }
}

Task<Gotten> Engine::Get(const Request& request, store::Memory& memory) {
  Gotten gotten;
  counters_.Add(Counter::kCmdGet);
  const std::shared_ptr<const store::Manifest> known =
      session_.manifests().Find(request.key);
  const bool only_reads = !request.exptime && !request.vivify &&
                          request.style.dialect != Dialect::kMeta;
  if (only_reads && request.want_value && known &&
      known->length > limits_.whole_below) {
    gotten.long_value = true;
    co_return gotten;
  }
  // Told before this access counts, as memcached does.
  store::Access before;
  const bool tells_access =
      request.style.return_flags.find_first_of("hl") != std::string::npos;
  Result<GetInfo> info = co_await Read(request, memory, gotten.value,
                                       tells_access ? &before : nullptr);
  gotten.counted = true;
  for (int i = 0; !info && info.error().code() == StatusCode::kNotManaged;
       ++i) {
    gotten = co_await GetPlain(request);
    TellAccess(before, gotten.done.reply.item);
    // Gone since: perhaps because it is an object now.
    const bool gone = gotten.done.reply.outcome == Outcome::kNotFound;
    if (!gone || i == kLooksAgain) co_return gotten;
    gotten = Gotten();
    gotten.counted = true;
    info = co_await Read(request, memory, gotten.value,
                         tells_access ? &before : nullptr);
  }
  if (!info) {
    if (info.error().code() == StatusCode::kNotFound) {
      counters_.Add(Counter::kGetMisses);
      if (request.vivify) co_return co_await Vivify(request, memory);
    }
    gotten.done = Failed(info.error());
    co_return gotten;
  }
  ItemInfo& item = gotten.done.reply.item;
  item = ItemOf(*info);
  TellAccess(before, item);
  if (request.style.dialect == Dialect::kMeta) {
    const Times times = TimesOf(request, info->expiry, /*created=*/false,
                                info->length, info->client_flags);
    item.ttl = TtlOf(times.told);
    co_await Judge(request, *info, times.judged, &item);
  }
  gotten.long_value = request.want_value && info->length > gotten.value.size();
  if (request.exptime && !(gotten.long_value && EndsAtOnce(request))) {
    const Status touched = co_await TouchRead(request);
    if (!touched.ok()) {
      gotten.long_value = false;
      gotten.done = Failed(touched);
      co_return gotten;
    }
  }
  if (gotten.long_value) co_return gotten;
  CountHit(request, *info);
  co_return gotten;
}

void Engine::CountHit(const Request& request, const ObjectInfo& info) {
  counters_.Add(Counter::kGetHits);
  if (wide_hits_ != nullptr && info.width == Width::kWide && !request.no_bump) {
    wide_hits_->Note(request.key);
  }
}

Task<Status> Engine::Stream(const Request& request, bool counted,
                            const std::function<void(const ItemInfo&)>& begin,
                            const store::AsyncSink& sink,
                            store::Memory& memory) {
  store::StreamWindow window = limits_.window;
  window.memory = &memory;
  window.no_bump = counted;
  const store::StreamBegin first = [&](const GetInfo& info) {
    CountHit(request, info);
    begin(ItemOf(info));
  };
  const Result<GetInfo> info =
      co_await store_.Stream(request.key, window, first, sink);
  if (!info) {
    if (info.error().code() == StatusCode::kNotFound) {
      counters_.Add(Counter::kGetMisses);
    }
    co_return info.error();
  }
  // What ends at once is handed out first.
  if (EndsAtOnce(request)) {
    const Status touched = co_await TouchRead(request);
    const bool gone = touched.code() == StatusCode::kNotFound;
    if (!touched.ok() && !gone) co_return touched;
  }
  co_return Status();
}

Task<Done> Engine::Store(const Request& request, store::Content& content,
                         store::Memory& memory) {
  counters_.Add(Counter::kCmdSet);
  if (request.mode == StoreMode::kAppend ||
      request.mode == StoreMode::kPrepend) {
    co_return co_await Extend(request, content, memory);
  }
  PutOptions options;
  options.client_flags = request.client_flags;
  options.expiry = ExpiryOf(request);
  store::PutTerms terms;
  ApplyRules(request, request.value_bytes, options, terms);
  terms.new_cas = request.new_cas;
  terms.stale_if_newer = request.invalidate;
  if (request.mode == StoreMode::kAdd) {
    terms.condition = store::PutCondition::kAbsent;
  } else if (request.mode == StoreMode::kReplace) {
    terms.condition = store::PutCondition::kPresent;
  }
  if (request.compare_cas) {
    options.expected_cas = *request.compare_cas;
    // No object has the CAS 0.
    if (options.expected_cas == 0) options.expected_cas = ~std::uint64_t{0};
  }
  // A long value that is refused must not fill the servers first.
  terms.check_first =
      request.value_bytes > limits_.whole_below &&
      (request.compare_cas || terms.condition != store::PutCondition::kNone);
  const Result<ObjectInfo> stored =
      co_await store_.PutContent(request.key, content, options, terms);
  if (request.compare_cas) {
    const StatusCode code = stored ? StatusCode::kOk : stored.error().code();
    if (code == StatusCode::kOk) counters_.Add(Counter::kCasHits);
    if (code == StatusCode::kNotFound) counters_.Add(Counter::kCasMisses);
    if (code == StatusCode::kConflict) counters_.Add(Counter::kCasBadval);
  }
  if (!stored) {
    Done done = Failed(stored.error());
    const bool refused = done.reply.outcome == Outcome::kNotFound ||
                         done.reply.outcome == Outcome::kExists;
    if (refused && !request.compare_cas) {
      done.reply.outcome = Outcome::kNotStored;
    }
    co_return done;
  }
  Done done;
  done.reply.item = ItemOf(*stored);
  co_return done;
}

Task<Done> Engine::Update(const Request& request,
                          std::span<const std::byte> bytes) {
  const Result<ObjectInfo> updated =
      co_await store_.Update(request.key, request.offset, bytes);
  if (!updated) co_return Failed(updated.error());
  Done done;
  done.reply.item = ItemOf(*updated);
  co_return done;
}

Task<Done> Engine::Change(const Request& request, store::Memory& memory) {
  switch (request.verb) {
    case Verb::kDelete:
      co_return co_await Delete(request);
    case Verb::kArithmetic:
      co_return co_await Arithmetic(request, memory);
    case Verb::kTouch:
      co_return co_await Touch(request);
    case Verb::kFlush:
      co_return co_await Flush(request);
    case Verb::kTransition:
      co_return co_await Transition(request, memory);
    case Verb::kInspect:
      co_return co_await Inspect(request);
    case Verb::kDebug:
      co_return co_await Debug(request);
    case Verb::kGet:
    case Verb::kEndOfGets:
    case Verb::kStore:
    case Verb::kUpdate:
    case Verb::kStats:
    case Verb::kVersion:
    case Verb::kVerbosity:
    case Verb::kNoop:
    case Verb::kQuit:
    case Verb::kList:
      break;  // none of them Runs::kChange or kAlone
  }
  co_return Failed(Status(StatusCode::kInvalidArgument, "not a change"));
}

Task<Done> Engine::Delete(const Request& request) {
  Status status;
  if (request.invalidate) {
    status = co_await Invalidate(request);
  } else if (request.compare_cas == 0) {
    status = Status(StatusCode::kConflict, "no object has the CAS 0");
  } else {
    status =
        co_await store_.Delete(request.key, request.compare_cas.value_or(0));
  }
  if (status.ok()) counters_.Add(Counter::kDeleteHits);
  if (status.code() == StatusCode::kNotFound) {
    counters_.Add(Counter::kDeleteMisses);
  }
  co_return status.ok() ? Done() : Failed(status);
}

// The item stays, for clients that take a stale one; the next of them wins.
Task<Status> Engine::Invalidate(const Request& request) {
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
          Capped(request, info.length, info.client_flags, ExpiryOf(request));
    }
    return update;
  };
  const Result<ObjectInfo> done =
      co_await store_.UpdateMetadata(request.key, invalidate);
  co_return done ? Status() : done.error();
}

Task<Done> Engine::Touch(const Request& request) {
  counters_.Add(Counter::kCmdTouch);
  const Result<ObjectInfo> touched = co_await SetExpiry(request);
  counters_.Add(touched ? Counter::kTouchHits : Counter::kTouchMisses);
  if (!touched) co_return Failed(touched.error());
  Done done;
  done.reply.item = ItemOf(*touched);
  co_return done;
}

Task<Done> Engine::Flush(const Request& request) {
  counters_.Add(Counter::kCmdFlush);
  std::uint64_t at = store::kAtOnce;
  if (request.exptime.value_or(0) > 0) {
    at = static_cast<std::uint64_t>(ExpiryOf(request) * kMicrosPerSecond);
  }
  const Status status = co_await store_.Flush(at);
  co_return status.ok() ? Done() : Failed(status);
}

Task<Done> Engine::Debug(const Request& request) {
  Value none;
  store::Access access;
  store::ReadTerms terms;
  terms.no_bump = true;
  terms.before = &access;
  const Result<GetInfo> info =
      co_await store_.GetUpTo(request.key, 0, none, terms);
  if (!info) co_return Failed(info.error());
  Done done;
  done.reply.item = ItemOf(*info);
  TellAccess(access, done.reply.item);
  co_return done;
}

}  // namespace ers::proxy
