// ItemTerms: on what terms items are stored and live: what the rules and the
// time make of what a request says.
#ifndef ERS_PROXY_ENGINE_ITEM_TERMS_H_
#define ERS_PROXY_ENGINE_ITEM_TERMS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "config/rules.h"
#include "ers/object_info.h"
#include "ers/options.h"
#include "protocol/reply.h"
#include "protocol/request.h"
#include "store/objects/store.h"

namespace ers::proxy {

// An expiry is in Unix seconds, 0 never.
class ItemTerms {
 public:
  using Clock = std::function<std::int64_t()>;  // Unix seconds

  // `scheme`, `inline_below`: where no rule says otherwise.
  ItemTerms(Clock clock, const Scheme& scheme, std::size_t inline_below);

  // Of stores that begin from now on.
  void SetRules(std::shared_ptr<const Rules> rules);
  // No longer value comes with its manifest.
  [[nodiscard]] std::uint64_t inline_most() const { return inline_most_; }

  // How a value that begins to be stored now would be coded.
  [[nodiscard]] Scheme SchemeOf(const ClientRequest& request) const;
  void Apply(const ClientRequest& request, std::uint64_t value_bytes,
             PutOptions& options, store::PutTerms& terms) const;
  // To the new value of an object whose scheme stays.
  void Apply(const ClientRequest& request, const ObjectInfo& info,
             store::Rewritten& rewritten) const;

  [[nodiscard]] std::int64_t Now() const { return clock_(); }
  [[nodiscard]] std::int64_t ExpiryOf(const ClientRequest& request) const;
  // Its exptime is over.
  [[nodiscard]] bool EndsAtOnce(const ClientRequest& request) const;
  // What the rule for such a value makes of an expiry.
  [[nodiscard]] std::int64_t Capped(const ClientRequest& request,
                                    std::uint64_t value_bytes,
                                    std::uint32_t client_flags,
                                    std::int64_t expiry) const;
  [[nodiscard]] std::int64_t TtlOf(std::int64_t expiry) const;

  // Expiries by request.time_flags, of an item that had `expiry`, or has just
  // been created: what it has then, what t reports and what R goes by.
  struct Times {
    std::int64_t left = 0;
    std::int64_t reported = 0;
    std::int64_t judged = 0;
  };
  [[nodiscard]] Times TimesOf(const ClientRequest& request, std::int64_t expiry,
                              bool created, std::uint64_t bytes,
                              std::uint32_t client_flags) const;

  [[nodiscard]] ItemInfo ItemOf(const ObjectInfo& info) const;

 private:
  Clock clock_;
  Scheme scheme_;
  std::uint64_t inline_below_;  // at most
  std::shared_ptr<const Rules> rules_;
  std::uint64_t inline_most_;
};

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_ITEM_TERMS_H_
