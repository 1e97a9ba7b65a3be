#include "engine/quick_hits.h"

#include <cstdint>

#include "store/format/manifest.h"

namespace ers::proxy {

std::unique_ptr<store::QuickGet> BeginQuickGet(const EngineContext& context,
                                               const ClientRequest& request,
                                               store::Memory& memory,
                                               store::QuickGet::Call call,
                                               void* call_context) {
  const bool is_plain = request.want_value && !request.exptime &&
                        !request.vivify && !request.no_bump &&
                        request.style.dialect != Dialect::kMeta;
  if (!is_plain || context.store.KnownLength(request.key)) return nullptr;
  const std::uint64_t most = context.terms.inline_most();
  if (!memory.TryTake(most)) return nullptr;
  auto begun = context.store.BeginGet(request.key, call, call_context);
  if (begun == nullptr) {
    memory.Give(most);
  } else {
    context.counters.Add(Counter::kCmdGet);
  }
  return begun;
}

bool EndQuickGet(const EngineContext& context, const ClientRequest& request,
                 store::QuickGet& begun, ItemInfo& item,
                 std::string_view& value) {
  const store::Manifest* const hit = begun.Hit();
  if (hit == nullptr) return false;
  context.NoteObject(*hit);
  item.bytes = hit->length;
  item.client_flags = hit->client_flags;
  item.cas = hit->cas;
  value = hit->value;
  CountHit(context, request, hit->width);
  return true;
}

void CountHit(const EngineContext& context, const ClientRequest& request,
              Width width) {
  context.counters.Add(Counter::kGetHits);
  if (context.hits != nullptr && width != Width::kNarrow && !request.no_bump) {
    context.hits->Note(request.key);
  }
}

}  // namespace ers::proxy
