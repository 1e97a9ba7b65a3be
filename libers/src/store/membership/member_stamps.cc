#include "store/membership/member_stamps.h"

#include <functional>
#include <utility>

namespace ers::store {

StampedView MemberStamps::ViewOn(int member, std::string_view boot) const {
  const MutexLock lock(mutex_);
  const Shown* shown = FindLocked(member, boot);
  return shown != nullptr ? shown->view : StampedView();
}

void MemberStamps::SetView(int member, std::string_view boot,
                           const StampedView& view) {
  const MutexLock lock(mutex_);
  AtLocked(member, boot).view = view;
}

Result<DecodedView> MemberStamps::Decode(const std::string& text) {
  {
    const MutexLock lock(mutex_);
    if (decoded_.view && text == text_) return decoded_;
  }
  Result<View> view = DecodeView(text);
  if (!view) return Fail(view.error());
  DecodedView decoded{std::make_shared<const View>(std::move(*view)),
                      std::hash<std::string>()(text)};
  const MutexLock lock(mutex_);
  text_ = text;
  decoded_ = decoded;
  return decoded;
}

StampedRegistry MemberStamps::RegistryOn(int member,
                                         std::string_view boot) const {
  const MutexLock lock(mutex_);
  const Shown* shown = FindLocked(member, boot);
  return shown != nullptr ? shown->registry : StampedRegistry();
}

void MemberStamps::SetRegistry(int member, std::string_view boot,
                               StampedRegistry registry) {
  const MutexLock lock(mutex_);
  AtLocked(member, boot).registry = std::move(registry);
}

EntryTerms MemberStamps::OwnTermsOn(int member, std::string_view boot) const {
  const MutexLock lock(mutex_);
  const Shown* shown = FindLocked(member, boot);
  return shown != nullptr ? shown->own : EntryTerms();
}

void MemberStamps::SetOwnTerms(int member, std::string_view boot,
                               const EntryTerms& terms) {
  const MutexLock lock(mutex_);
  AtLocked(member, boot).own = terms;
}

const MemberStamps::Shown* MemberStamps::FindLocked(
    int member, std::string_view boot) const {
  const auto found = shown_.find(member);
  if (found == shown_.end() || found->second.boot != boot) return nullptr;
  return &found->second;
}

// Another life than the one that is known has shown nothing yet.
MemberStamps::Shown& MemberStamps::AtLocked(int member, std::string_view boot) {
  Shown& shown = shown_[member];
  if (shown.boot != boot) {
    shown = Shown();
    shown.boot = boot;
  }
  return shown;
}

}  // namespace ers::store
