#include "store/repair/key_walk.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "store/format/keys.h"

namespace ers::store {
namespace {

using net::Task;

// Manifests of keys that begin like our own items go under a hash of the key.
bool IsHashedName(std::string_view item) {
  return HashOfHashedName(item).has_value();
}

}  // namespace

bool KeyWalk::InSlice(std::string_view name) const {
  return slices_ == 1 || HashKey(name).low % slices_ == slice_;
}

void KeyWalk::Collect(const DumpedItem& dumped) {
  const bool hashed = IsHashedName(dumped.key);
  if (!hashed && dumped.key.starts_with(kReservedPrefix)) return;
  if (!hashed && terms_.wanted && !terms_.wanted(dumped.key)) return;
  if (!InSlice(dumped.key)) return;
  Seen& item = items_[std::string(dumped.key)];
  item.member = dumped.member;
  item.last_access = std::max(item.last_access, dumped.last_access);
  if (items_.size() > keys_at_once_ && slice_ == 0) Halve();
}

// The first slice decides how many there are: the others are as large.
void KeyWalk::Halve() {
  slices_ *= 2;
  std::erase_if(items_,
                [this](const auto& item) { return !InSlice(item.first); });
}

// The same item may come from a server whose dump then fails: no harm, it is
// read like the others.
Task<Status> KeyWalk::Dump(std::shared_ptr<const View> view) {
  // Every manifest is on f+1 members, so f may be silent.
  const int max_failures = view->max_failures;
  const std::function<void(const DumpedItem&)> collect =
      [this](const DumpedItem& dumped) { Collect(dumped); };
  const KeyDump dump = co_await DumpKeys(
      session_, view, session_.members() - max_failures, terms_.stop, collect);
  if (dump.silent <= max_failures) co_return Status();
  std::vector<std::string> why = dump.why;
  for (int i = 0; i < session_.members(); ++i) {
    const MemberState state = view->members[static_cast<std::size_t>(i)].state;
    if (state == MemberState::kDown) why.push_back(session_.Describe(i));
    if (state == MemberState::kBackfilling) {
      why.push_back(session_.member_name(i) + " is not in sync yet");
    }
  }
  co_return Status(
      StatusCode::kUnavailable,
      fmt::format(
          "{} servers cannot list their keys ({}), the cluster survives "
          "{}: start what does not answer, then try again",
          dump.silent, fmt::join(why, "; "), max_failures));
}

Task<Result<bool>> KeyWalk::NextSlice(std::shared_ptr<const View> view) {
  if (begun_ && ++slice_ == slices_) co_return false;
  begun_ = true;
  const bool stopped = terms_.stop != nullptr && terms_.stop->stopped();
  Status status = stopped ? StoppedStatus() : Status();
  if (status.ok()) status = co_await Dump(std::move(view));
  if (terms_.stop != nullptr && terms_.stop->stopped()) {
    status = StoppedStatus();
  }
  if (!status.ok()) co_return Fail(std::move(status));
  co_return true;
}

// Out of the slice as it goes: a caller that keeps the keys holds them once.
WalkedItem KeyWalk::Take() {
  auto node = items_.extract(items_.begin());
  ++taken_;
  return {std::move(node.key()), node.mapped().member,
          node.mapped().last_access};
}

std::uint64_t KeyWalk::total() const {
  const std::uint64_t known = taken_ + items_.size();
  const std::uint64_t dumped = std::min(slice_ + 1, slices_);
  return known + known * (slices_ - dumped) / dumped;
}

// The member that dumped it first, the others where its copy is gone or
// damaged.
Task<Result<std::string>> KeyOfItem(Session& session, const WalkedItem& item) {
  if (!IsHashedName(item.name)) co_return item.name;
  Status status;
  for (int i = 0; i < session.members(); ++i) {
    const int member = (item.member + i) % session.members();
    Result<std::string> key = co_await KeyBehind(session, member, item.name);
    if (key && !key->empty()) co_return key;
    const bool in_sync =
        session.view() && session.view()->members[member].InSync();
    if (!key && in_sync) status = key.error();
  }
  if (!status.ok()) co_return Fail(std::move(status));
  co_return std::string();
}

Status StoppedStatus() {
  return {StatusCode::kUnavailable, "the listing was stopped"};
}

}  // namespace ers::store
