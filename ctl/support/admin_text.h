// How what a daemon's admin port answers is read and written.
#ifndef ERS_CTL_SUPPORT_ADMIN_TEXT_H_
#define ERS_CTL_SUPPORT_ADMIN_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ctl/support/report.h"

namespace ers::ctl {

// Of an object: the text, or the number, of that name. "" and 0 where it is
// absent or another thing.
std::string TextIn(const Json& json, const char* name);
std::uint64_t NumberIn(const Json& json, const char* name);
// Of an object: the one of that name; an empty one where there is none.
Json ObjectIn(const Json& json, const char* name);
// An empty one where there is none.
Json ListIn(const Json& json, const char* name);

// "2026-01-31T23:59:59Z"; "-" for 0.
std::string TimeText(std::int64_t unix_seconds);
// A server, and its place on the ring if that has another name.
std::string ServerText(const std::string& name, const std::string& slot);
// "85us", "1.2ms"; "-" where it is no number.
std::string TookText(const Json& latency, const char* name);
// "1.02x"; "-" where none is known.
std::string BesideText(const Json& latency);

// What a terminal shows as it is: no control characters, of UTF-8 neither. Keys
// and names may be any bytes.
std::string Plain(std::string_view text);
// An event of the daemon's event log, as one line without its end.
std::string EventText(const Json& event);

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_ADMIN_TEXT_H_
