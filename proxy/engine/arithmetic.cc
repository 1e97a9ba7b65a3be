#include "engine/arithmetic.h"

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "engine/rewrite.h"
#include "protocol/words.h"
#include "store/support/content.h"

namespace ers::proxy {
namespace {

using net::Task;

// The number that the value begins with, up to white space or a zero byte; what
// is behind that is lost, as it is in memcached.
std::optional<std::uint64_t> Parse(std::string_view text) {
  std::uint64_t number = 0;
  if (!ParseNumber(text.substr(0, text.find('\0')), number)) {
    return std::nullopt;
  }
  return number;
}

std::uint64_t Apply(const ClientRequest& request, std::uint64_t number) {
  if (!request.decrement) return number + request.delta;  // wraps around
  return number < request.delta ? 0 : number - request.delta;
}

// A rival may create it first: then there is something to add to.
Task<Done> CreateNumber(const EngineContext& context,
                        const ClientRequest& request, store::Memory& memory) {
  const std::string text = std::to_string(request.initial);
  store::MemoryContent content(std::as_bytes(std::span(text)));
  PutOptions options;
  const ItemTerms::Times times =
      context.terms.TimesOf(request, 0, /*created=*/true, text.size(), 0);
  options.expiry = times.left;
  store::PutTerms terms;
  context.terms.Apply(request, text.size(), options, terms);
  terms.condition = store::PutCondition::kAbsent;
  terms.new_cas = request.new_cas;
  const Result<ObjectInfo> created =
      co_await context.store.PutContent(request.key, content, options, terms);
  if (!created) {
    if (created.error().code() == StatusCode::kConflict) {
      co_return co_await Arithmetic(context, request, memory);
    }
    co_return context.Failed(created.error());
  }
  Done done;
  done.reply.item = context.ItemOf(*created);
  done.reply.item.ttl = context.terms.TtlOf(times.reported);
  done.reply.number = request.initial;
  done.reply.created = true;
  co_return done;
}

}  // namespace

Task<Done> Arithmetic(const EngineContext& context,
                      const ClientRequest& request, store::Memory& memory) {
  const Counter hits =
      request.decrement ? Counter::kDecrHits : Counter::kIncrHits;
  const Counter misses =
      request.decrement ? Counter::kDecrMisses : Counter::kIncrMisses;
  std::uint64_t number = 0;
  bool not_a_number = false;
  std::int64_t reported = 0;
  const auto change = [&](const ObjectInfo& info,
                          std::span<const std::byte> old) {
    store::Rewritten rewritten;
    const auto value =
        Parse({reinterpret_cast<const char*>(old.data()), old.size()});
    not_a_number = !value;
    // memcached compares the CAS of what may be a number only.
    if (!old.empty() && request.compare_cas &&
        info.cas != *request.compare_cas) {
      not_a_number = false;
      rewritten.status = Status(StatusCode::kConflict, "another CAS");
    } else if (!value) {
      rewritten.status = Status(StatusCode::kInvalidArgument, "not a number");
    } else {
      number = Apply(request, *value);
      rewritten.value = std::to_string(number);
      rewritten.keeps_marks = rewritten.value.size() <= old.size();
      if (rewritten.keeps_marks) rewritten.value.resize(old.size(), ' ');
      const ItemTerms::Times times =
          context.terms.TimesOf(request, info.expiry, /*created=*/false,
                                rewritten.value.size(), info.client_flags);
      rewritten.expiry = times.left;
      reported = times.reported;
      context.terms.Apply(request, info, rewritten);
    }
    return rewritten;
  };
  RewriteRoom room{context.terms.inline_most(), 0};
  const Status taken = co_await memory.Take(room.bytes());
  if (!taken.ok()) co_return context.Failed(taken);
  const Result<ObjectInfo> info =
      co_await Rewrite(context, request, memory, room, change);
  if (info) {
    context.counters.Add(hits);
    Done done;
    done.reply.item = context.ItemOf(*info);
    done.reply.item.ttl = context.terms.TtlOf(reported);
    done.reply.number = number;
    co_return done;
  }
  if (info.error().code() == StatusCode::kNotFound) {
    context.counters.Add(misses);
    if (request.vivify) {
      co_return co_await CreateNumber(context, request, memory);
    }
  }
  Done done = context.Failed(info.error());
  if (not_a_number && done.reply.outcome == ReplyStatus::kClientError) {
    done.reply.outcome = ReplyStatus::kNotNumber;
  }
  co_return done;
}

}  // namespace ers::proxy
