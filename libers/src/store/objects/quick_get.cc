#include "store/objects/quick_get.h"

#include <utility>

#include "store/membership/view_loader.h"
#include "store/repair/lru_bump.h"

namespace ers::store {

std::unique_ptr<QuickGet> QuickGet::Begin(Session& session,
                                          std::string_view key, Call call,
                                          void* context) {
  net::Task<Status> ready = EnsureViewFor(session, key);
  if (!ready.await_ready() || !ready.await_resume().ok()) return nullptr;
  PrimaryTerms terms;
  terms.report_access = MayBumpLru(session);
  auto get = std::make_unique<QuickGet>(session, key, terms);
  get->copy_.OnEnd(call, context);
  return get->copy_.Start().ok() ? std::move(get) : nullptr;
}

QuickGet::QuickGet(Session& session, std::string_view key,
                   const PrimaryTerms& terms)
    : session_(session),
      terms_(terms),
      replicas_(session, key),
      copy_(replicas_.BeginRead(terms)) {}

const Manifest* QuickGet::Hit() {
  answer_ = copy_.TakeAnswer();
  const bool has_value = answer_ && *answer_ && **answer_ &&
                         (**answer_)->is_inline && !(**answer_)->is_packed();
  if (!has_value) {
    copy_.FreeBytes();
    return nullptr;
  }
  const ShownManifest& shown = **answer_;
  session_.manifests().Insert(shown);
  if (terms_.report_access) {
    BumpLru(session_, shown, copy_.request().item_fetched);
  }
  return shown.get();
}

net::Task<Result<ShownManifest>> QuickGet::Finish() {
  if (answer_) {
    return net::Task<Result<ShownManifest>>::Ready(*std::move(answer_));
  }
  return replicas_.FinishRead(copy_);
}

}  // namespace ers::store
