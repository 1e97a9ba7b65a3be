// Which servers are in, and which process may write. Entry points: Session,
// which every operation has in hand; EnsureView, FollowView and MarkDown;
// EnsureLease; Send, through which every message goes. Nothing that reads or
// writes an object may come in.
#ifndef ERS_STORE_MEMBERSHIP_MEMBERSHIP_H_
#define ERS_STORE_MEMBERSHIP_MEMBERSHIP_H_
#endif  // ERS_STORE_MEMBERSHIP_MEMBERSHIP_H_
