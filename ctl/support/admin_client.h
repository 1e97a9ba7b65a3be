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
// own words: kNotFound (404), kInvalidArgument (other 4xx), kUnavailable (429,
// 5xx, and where no answer comes in time), kIncompatible where something else
// than an ersproxy's admin port answers.
Result<Json> AskAdmin(const GlobalOptions& global, Method method,
                      const std::string& path, const std::string& body = "");

}  // namespace ers::ctl

#endif  // ERS_CTL_SUPPORT_ADMIN_CLIENT_H_
