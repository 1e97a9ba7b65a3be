#include "jobs/pack_batch.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "store/blocks/pack_reader.h"
#include "store/format/change_age.h"
#include "store/format/keys.h"

namespace ers::proxy {
namespace {

using net::Task;
using ManifestPtr = std::shared_ptr<const store::Manifest>;

// Is it as it was when it was chosen?
bool IsWanted(const store::ListedObject& object, const ToPack& value,
              const Selection& select, std::int64_t now_us) {
  const store::Manifest& manifest = *object.manifest;
  if (!manifest.is_inline || manifest.pack != value.pack) return false;
  return manifest.is_packed() || select.TakesTimes(object, now_us);
}

bool IsInAnother(const store::Manifest& manifest, const ToPack& value) {
  return manifest.is_packed() && manifest.pack != value.pack;
}

}  // namespace

Need NeedOfPacking(store::Session& session, const store::Manifest& manifest) {
  if (manifest.is_packed()) return Need::kNothing;
  const bool worth =
      manifest.is_inline && store::IsWorthPacking(session, manifest);
  return worth ? Need::kChange : Need::kImpossible;
}

Task<PackOutcome> PackBatch(store::Store& store, const Selection& select,
                            std::vector<ToPack> values, std::int64_t now_us) {
  PackOutcome outcome;
  std::vector<ManifestPtr> wanted;
  for (const ToPack& value : values) {
    const Result<store::ListedObject> now =
        co_await store.ReadListed(value.key);
    if (!now && now.error().code() != StatusCode::kNotManaged) {
      ++outcome.failed;
      outcome.why = now.error();
    } else if (!now || !now->manifest) {
      ++outcome.gone;
    } else if (IsInAnother(*now->manifest, value)) {
      ++outcome.already;
    } else if (!IsWanted(*now, value, select, now_us)) {
      ++outcome.kept;
    } else {
      wanted.push_back(now->manifest);
    }
  }
  const std::uint64_t tried = wanted.size();
  if (tried == 0) co_return outcome;
  const Result<store::PackedValues> packed =
      co_await store.Pack(std::move(wanted));
  if (!packed) {
    outcome.failed += tried;
    outcome.why = packed.error();
    co_return outcome;
  }
  const std::uint64_t changed = packed->values + packed->unpacked;
  outcome.changed += changed;
  outcome.kept += tried - changed;
  outcome.bytes_read = packed->bytes_read;
  outcome.bytes_written = packed->bytes_written;
  co_return outcome;
}

void PackQueue::Clear() { *this = PackQueue(); }

void PackQueue::Note(ManifestPtr manifest) {
  if (manifest->is_packed()) {
    named_[manifest->pack] += manifest->key.size() + manifest->length;
  } else if (store::IsPackKey(manifest->key)) {
    packs_.push_back(std::move(manifest));
  }
}

int PackQueue::FormOf(const store::Manifest& manifest) {
  const std::pair form(manifest.scheme, manifest.width);
  const auto at = std::find(forms_.begin(), forms_.end(), form);
  const auto number = static_cast<int>(at - forms_.begin());
  if (at == forms_.end()) forms_.push_back(form);
  return number;
}

void PackQueue::Add(const store::Manifest& value) {
  values_.push_back({value.key, value.length, {}, FormOf(value)});
  bytes_ += value.length;
}

// A younger one may be under way, and could not be dropped either; of one that
// is not named at all nothing is left to be packed.
bool PackQueue::IsSparse(const store::Manifest& pack, const Named& named,
                         std::int64_t now_us) {
  using std::chrono::microseconds;
  const store::ChangeId id = *store::PackOfKey(pack.key);
  const auto at = named.find(id);
  return microseconds(now_us) - microseconds(id.time_us) >
             2 * store::ChangeTimeout() &&
         at != named.end() && 2 * at->second < pack.length;
}

Task<void> PackQueue::AddSparse(store::Store& store, store::Session& session,
                                const std::function<bool()>& going,
                                std::uint64_t most) {
  const std::vector<ManifestPtr> packs = std::exchange(packs_, {});
  const Named named = std::exchange(named_, {});
  for (const ManifestPtr& pack : packs) {
    if (!going()) co_return;
    if (!IsSparse(*pack, named, session.WallMicros())) continue;
    const Result<std::vector<store::PackEntry>> entries =
        co_await store::ReadPackDirectory(session, pack);
    if (!entries) continue;  // the next listing finds it again
    const store::ChangeId id = *store::PackOfKey(pack->key);
    for (const store::PackEntry& entry : *entries) {
      if (!going()) co_return;
      // Most have left it, and would take the place of what has not.
      const Result<store::ListedObject> now =
          co_await store.ReadListed(entry.key);
      if (!now || !now->manifest || now->manifest->pack != id) continue;
      if (!going() || size() >= most) break;
      values_.push_back({entry.key, entry.length, id, FormOf(*now->manifest)});
      bytes_ += entry.length;
    }
  }
  std::sort(values_.begin(), values_.end(),
            [](const ToPack& a, const ToPack& b) {
              return std::tie(a.form, a.key) < std::tie(b.form, b.key);
            });
}

std::vector<ToPack> PackQueue::Take() {
  std::vector<ToPack> taken;
  const int form = values_.front().form;
  const std::uint64_t room =
      store::PackBytesFor(forms_[static_cast<std::size_t>(form)].first);
  std::uint64_t bytes = 0;
  while (!values_.empty() && values_.front().form == form) {
    ToPack& next = values_.front();
    bytes += next.length + next.key.size();
    if (!taken.empty() && bytes > room) break;
    bytes_ -= next.length;
    taken.push_back(std::move(next));
    values_.pop_front();
  }
  return taken;
}

void PackQueue::PutBack(const std::vector<ToPack>& values) {
  values_.insert(values_.begin(), values.begin(), values.end());
  for (const ToPack& value : values) bytes_ += value.length;
}

}  // namespace ers::proxy
