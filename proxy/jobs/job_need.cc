#include "jobs/job_need.h"

#include <algorithm>
#include <cstdint>

#include "base/micros.h"
#include "jobs/pack_batch.h"
#include "store/format/change_id.h"
#include "store/format/keys.h"

namespace ers::proxy {

Need NeedOfJob(const JobSpec& spec, store::Session& session,
               const store::Manifest& manifest) {
  if (spec.deletes) return Need::kChange;
  if (spec.packs) return NeedOfPacking(session, manifest);
  // How many servers its values survive is theirs to say, not the pack's.
  const bool for_values = spec.target.scheme || spec.target.parity_blocks;
  if (for_values && store::IsPackKey(manifest.key)) return Need::kImpossible;
  return NeedOf(manifest, spec.target);
}

bool ChangedBefore(const JournalEntry& before,
                   const store::Manifest& manifest) {
  const bool was_under_way =
      std::find(before.under_way.begin(), before.under_way.end(),
                manifest.key) != before.under_way.end();
  const auto ours = [&](const store::ChangeTag& tag) {
    return tag.maker == store::ChangeId::TagOf(before.nonce) &&
           (was_under_way ||
            static_cast<std::int64_t>(tag.time_us) > before.saved_us);
  };
  return ours(manifest.id.tag()) ||
         std::any_of(manifest.history.begin(), manifest.history.end(), ours);
}

bool IsNewer(const Job& job, const store::Manifest& manifest) {
  return static_cast<std::int64_t>(manifest.id.time_us) / kMicrosPerSecond >=
         job.created;
}

}  // namespace ers::proxy
