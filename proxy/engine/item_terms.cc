#include "engine/item_terms.h"

#include <algorithm>
#include <utility>

#include "protocol/exptime.h"

namespace ers::proxy {
namespace {

std::uint64_t MostOf(std::size_t inline_below) {
  return inline_below == kInlineAuto ? kMaxInlineAuto : inline_below;
}

}  // namespace

ItemTerms::ItemTerms(Clock clock, const Scheme& scheme,
                     std::size_t inline_below)
    : clock_(std::move(clock)),
      scheme_(scheme),
      inline_below_(MostOf(inline_below)),
      rules_(std::make_shared<const Rules>()),
      inline_most_(inline_below_) {}

void ItemTerms::SetRules(std::shared_ptr<const Rules> rules) {
  rules_ = std::move(rules);
  inline_most_ = inline_below_;
  for (const Rule& rule : rules_->list) {
    inline_most_ =
        std::max(inline_most_, MostOf(rule.inline_below.value_or(0)));
  }
}

Scheme ItemTerms::SchemeOf(const ClientRequest& request) const {
  const Rule* rule =
      rules_->Match(request.key, request.value_bytes, request.client_flags);
  return rule != nullptr && rule->scheme ? *rule->scheme : scheme_;
}

void ItemTerms::Apply(const ClientRequest& request, std::uint64_t value_bytes,
                      PutOptions& options, store::PutTerms& terms) const {
  const Rule* rule =
      rules_->Match(request.key, value_bytes, options.client_flags);
  if (rule == nullptr) return;
  options.scheme = rule->scheme;
  terms.inline_below = rule->inline_below;
  options.expiry = CappedExpiry(*rule, options.expiry, Now());
}

void ItemTerms::Apply(const ClientRequest& request, const ObjectInfo& info,
                      store::Rewritten& rewritten) const {
  const Rule* rule =
      rules_->Match(request.key, rewritten.value.size(), info.client_flags);
  if (rule == nullptr) return;
  rewritten.inline_below = rule->inline_below;
  rewritten.expiry =
      CappedExpiry(*rule, rewritten.expiry.value_or(info.expiry), Now());
}

std::int64_t ItemTerms::ExpiryOf(const ClientRequest& request) const {
  return proxy::ExpiryOf(request.exptime.value_or(0), Now());
}

bool ItemTerms::EndsAtOnce(const ClientRequest& request) const {
  const std::int64_t expiry = ExpiryOf(request);
  return expiry != 0 && expiry <= Now();
}

std::int64_t ItemTerms::Capped(const ClientRequest& request,
                               std::uint64_t value_bytes,
                               std::uint32_t client_flags,
                               std::int64_t expiry) const {
  const Rule* rule = rules_->Match(request.key, value_bytes, client_flags);
  return rule == nullptr ? expiry : CappedExpiry(*rule, expiry, Now());
}

std::int64_t ItemTerms::TtlOf(std::int64_t expiry) const {
  return expiry == 0 ? -1 : std::max<std::int64_t>(0, expiry - Now());
}

ItemTerms::Times ItemTerms::TimesOf(const ClientRequest& request,
                                    std::int64_t expiry, bool created,
                                    std::uint64_t bytes,
                                    std::uint32_t client_flags) const {
  Times times{.left = expiry, .reported = expiry, .judged = expiry};
  const auto at = [&](std::int64_t exptime) {
    return Capped(request, bytes, client_flags,
                  proxy::ExpiryOf(exptime, Now()));
  };
  for (const char flag : request.time_flags) {
    switch (flag) {
      case 'N':
        if (created) times.left = at(*request.vivify);
        break;
      case 'T':
        times.left = at(*request.exptime);
        break;
      case 'R':
        times.judged = times.left;
        break;
      default:
        times.reported = times.left;
        break;
    }
  }
  return times;
}

ItemInfo ItemTerms::ItemOf(const ObjectInfo& info) const {
  ItemInfo item;
  item.bytes = info.length;
  item.client_flags = info.client_flags;
  item.cas = info.cas;
  item.ttl = TtlOf(info.expiry);
  return item;
}

}  // namespace ers::proxy
