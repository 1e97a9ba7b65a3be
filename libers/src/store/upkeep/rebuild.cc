#include "store/upkeep/rebuild.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/membership/view_loader.h"
#include "store/support/pace.h"
#include "store/upkeep/backfill.h"

namespace ers::store {
namespace {

using net::Task;

RebuildProgress ProgressOf(Session& session, const BackfillProgress& now,
                           const BackfillCounters& counters) {
  RebuildProgress progress;
  for (const int member : now.members) {
    progress.servers.push_back(session.member_name(member));
  }
  progress.walk = now.walk;
  progress.objects = now.objects;
  progress.total = now.total;
  progress.seconds_left = now.SecondsLeft(session.runtime().Now());
  progress.bytes_read = counters.bytes_read.Get();
  progress.bytes_written = counters.bytes_written.Get();
  return progress;
}

// The servers that are out, in words; also those that died and are not missed
// yet.
std::vector<std::string> Out(Session& session) {
  std::vector<std::string> out;
  for (int i = 0; i < session.members(); ++i) {
    const MemberState state = session.view()->members[i].state;
    const bool answers = session.Readable(i);
    if (state == MemberState::kInSync && answers) continue;
    const std::string_view what = state == MemberState::kInSync
                                      ? "does not answer"
                                      : MemberStateName(state);
    out.push_back(fmt::format("{} ({})", session.Describe(i), what));
  }
  return out;
}

}  // namespace

Task<Result<RebuildReport>> Rebuild(Session& session,
                                    const RebuildOptions& options) {
  RebuildReport report;
  Status status = co_await EnsureView(session);
  if (status.code() == StatusCode::kNotFound) co_return report;
  if (!status.ok()) co_return Fail(std::move(status));
  co_await MissRestarted(session);
  Pace pace(session.runtime(), options.bytes_per_second);
  BackfillCounters counters;
  BackfillTerms terms;
  terms.parallel = options.parallel;
  terms.slice_keys = options.slice_keys;
  terms.pace = &pace;
  terms.counters = &counters;
  if (options.progress) {
    terms.progress = [&](const BackfillProgress& now) {
      if (now.walk > 0) options.progress(ProgressOf(session, now, counters));
    };
  }
  const std::vector<int> all;
  const Result<BackfillReport> filled = co_await Backfill(session, all, terms);
  if (!filled) co_return Fail(filled.error());
  for (const int member : filled->members) {
    report.backfilled.push_back(session.member_name(member));
  }
  report.out = Out(session);
  report.objects = filled->objects;
  report.blocks = filled->blocks;
  report.lost = filled->lost;
  report.bytes_read = counters.bytes_read.Get();
  report.bytes_written = counters.bytes_written.Get();
  co_return report;
}

}  // namespace ers::store
