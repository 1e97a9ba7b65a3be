#include "engine/quick_stores.h"

#include <cstdint>

#include "store/format/manifest.h"

namespace ers::proxy {

StoreTerms StoreTermsOf(const EngineContext& context,
                        const ClientRequest& request) {
  StoreTerms out;
  out.options.client_flags = request.client_flags;
  out.options.expiry = context.terms.ExpiryOf(request);
  context.terms.Apply(request, request.value_bytes, out.options, out.terms);
  out.terms.new_cas = request.new_cas;
  out.terms.stale_if_newer = request.invalidate;
  if (request.mode == StoreMode::kAdd) {
    out.terms.condition = store::PutCondition::kAbsent;
  } else if (request.mode == StoreMode::kReplace) {
    out.terms.condition = store::PutCondition::kPresent;
  }
  if (request.compare_cas) {
    out.options.expected_cas = *request.compare_cas;
    // No object has the CAS 0.
    if (out.options.expected_cas == 0) {
      out.options.expected_cas = ~std::uint64_t{0};
    }
  }
  // A long value that is refused must not fill the servers first.
  out.terms.check_first = request.value_bytes > context.limits.whole_below &&
                          (request.compare_cas ||
                           out.terms.condition != store::PutCondition::kNone);
  return out;
}

std::unique_ptr<store::QuickPut> BeginQuickStore(const EngineContext& context,
                                                 const ClientRequest& request,
                                                 std::string_view value,
                                                 store::QuickPut::Call call,
                                                 void* call_context) {
  if (context.warming != nullptr || request.operation != Operation::kStore ||
      request.mode == StoreMode::kAppend ||
      request.mode == StoreMode::kPrepend) {
    return nullptr;
  }
  const StoreTerms how = StoreTermsOf(context, request);
  auto begun = context.store.BeginPut(request.key, value, how.options,
                                      how.terms, call, call_context);
  if (begun != nullptr) context.counters.Add(Counter::kCmdSet);
  return begun;
}

bool EndQuickStore(const EngineContext& context, store::QuickPut& begun,
                   ItemInfo& item) {
  const store::Manifest* const stored = begun.Committed();
  if (stored == nullptr) return false;
  context.NoteObject(*stored);
  item.bytes = stored->length;
  item.client_flags = stored->client_flags;
  item.cas = stored->cas;
  item.ttl = context.terms.TtlOf(stored->expiry);
  return true;
}

}  // namespace ers::proxy
