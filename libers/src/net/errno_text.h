// ErrnoText: how a system error reads in the middle of a sentence.
#ifndef ERS_NET_ERRNO_TEXT_H_
#define ERS_NET_ERRNO_TEXT_H_

#include <cerrno>
#include <string>

namespace ers::net {

// The system's text for `error_number`, beginning in lower case, so that it
// reads after "server: ", e.g. "connection refused". Any thread.
std::string ErrnoText(int error_number);

// Of a call that has just failed: would it do later?
inline bool MustWait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace ers::net

#endif  // ERS_NET_ERRNO_TEXT_H_
