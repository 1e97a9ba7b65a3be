// AdminClient: requests to an ersproxy's admin port
// (docs/reference/settings.md).
#ifndef ERS_CTL_SUPPORT_ADMIN_CLIENT_H_
#define ERS_CTL_SUPPORT_ADMIN_CLIENT_H_

#include <cstdint>
#include <string>

#include "ctl/support/report.h"
#include "ctl/support/session.h"

namespace ers::ctl {

enum class Method : std::uint8_t { kGet, kPost, kDelete };

// Blocking; one connection for each call. What the proxy refuses comes with its
// own words and code; without one, and of jobs, that is kNotFound (404),
// kInvalidArgument (other 4xx) or kUnavailable (429, 5xx). kUnavailable as well
// where no answer comes in time (kOutcomeUnknown of what may change something),
// kIncompatible where something else than an ersproxy's admin port answers.
Result<Json> AskAdmin(const GlobalOptions& global, Method method,
                      const std::string& path, const std::string& body = "");

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_ADMIN_CLIENT_H_
