// incr and decr: decimal numbers of 64 bits, as memcached's protocol.txt has
// them (section "Increment/Decrement").
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "protocol/exptime.h"

namespace ers::proxy {
namespace {

using net::Task;

// The digits that the value begins with, up to a blank or zero byte; what is
// behind that is lost, as it is in memcached.
std::optional<std::uint64_t> Parse(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  std::uint64_t number = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const char* end = text.data() + text.size();
  const bool ends =
      parsed.ptr == end || *parsed.ptr == ' ' || *parsed.ptr == '\0';
  if (parsed.ec != std::errc() || !ends) return std::nullopt;
  return number;
}

std::uint64_t Apply(const Request& request, std::uint64_t number) {
  if (!request.decrement) return number + request.delta;  // wraps around
  return number < request.delta ? 0 : number - request.delta;
}

}  // namespace

// Takes memory for the old value, and the new one twice: it is staged from one
// of them. A value that is longer than it was taken for is taken for again.
Task<Result<ObjectInfo>> Engine::RewriteShort(
    const Request& request, store::Memory& memory,
    const store::Store::Rewriter& rewriter) {
  std::uint64_t longest = inline_most_;
  for (;;) {
    const std::uint64_t expected = longest;
    const Status room = co_await memory.Take(3 * expected);
    if (!room.ok()) co_return Fail(room);
    const auto may_read = [&longest](const ObjectInfo& info) {
      if (info.length <= longest) return Status();
      longest = info.length;
      return Status(StatusCode::kTooLarge, "more than was expected");
    };
    Result<ObjectInfo> info =
        co_await store_.Rewrite(request.key, rewriter, may_read);
    memory.Give(3 * expected);
    if (longest == expected) co_return info;
  }
}

Task<Done> Engine::Arithmetic(const Request& request, store::Memory& memory) {
  const Counter hits =
      request.decrement ? Counter::kDecrHits : Counter::kIncrHits;
  const Counter misses =
      request.decrement ? Counter::kDecrMisses : Counter::kIncrMisses;
  std::uint64_t number = 0;
  bool not_a_number = false;
  const auto change = [&](const ObjectInfo& info,
                          std::span<const std::byte> old) {
    store::Rewritten rewritten;
    const auto value =
        Parse({reinterpret_cast<const char*>(old.data()), old.size()});
    not_a_number = !value;
    if (request.compare_cas && info.cas != *request.compare_cas) {
      not_a_number = false;
      rewritten.status = Status(StatusCode::kConflict, "another CAS");
    } else if (!value) {
      rewritten.status = Status(StatusCode::kInvalidArgument, "not a number");
    } else {
      number = Apply(request, *value);
      rewritten.value = std::to_string(number);
      if (rewritten.value.size() < old.size()) {
        rewritten.value.resize(old.size(), ' ');
      }
      if (request.exptime) rewritten.expiry = ExpiryOf(request);
      ApplyRules(request, info, rewritten);
    }
    return rewritten;
  };
  const Result<ObjectInfo> info =
      co_await RewriteShort(request, memory, change);
  if (info) {
    counters_.Add(hits);
    Done done;
    done.reply.item = ItemOf(*info);
    done.reply.number = number;
    co_return done;
  }
  if (info.error().code() == StatusCode::kNotFound) {
    counters_.Add(misses);
    if (request.vivify) co_return co_await CreateNumber(request, memory);
  }
  Done done = Failed(info.error());
  if (not_a_number && done.reply.outcome == Outcome::kClientError) {
    done.reply.outcome = Outcome::kNotNumber;
  }
  co_return done;
}

// A rival may create it first: then there is something to add to.
Task<Done> Engine::CreateNumber(const Request& request, store::Memory& memory) {
  const std::string text = std::to_string(request.initial);
  store::MemoryContent content(std::as_bytes(std::span(text)));
  PutOptions options;
  options.expiry = proxy::ExpiryOf(*request.vivify, Now());
  store::PutTerms terms;
  ApplyRules(request, text.size(), options, terms);
  terms.condition = store::PutCondition::kAbsent;
  terms.new_cas = request.new_cas;
  const Result<ObjectInfo> created =
      co_await store_.PutContent(request.key, content, options, terms);
  if (!created) {
    if (created.error().code() == StatusCode::kConflict) {
      co_return co_await Arithmetic(request, memory);
    }
    co_return Failed(created.error());
  }
  Done done;
  done.reply.item = ItemOf(*created);
  done.reply.number = request.initial;
  done.reply.created = true;
  co_return done;
}

}  // namespace ers::proxy
