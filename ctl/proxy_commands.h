// Commands that an ersproxy carries out: its "ers" lines
// (docs/reference/protocol.md).
#ifndef ERS_CTL_PROXY_COMMANDS_H_
#define ERS_CTL_PROXY_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ctl/report.h"
#include "ctl/session.h"

namespace ers::ctl {

// Each at global.proxy, which is given.
Ending TransitionAtProxy(const GlobalOptions& global, const std::string& key,
                         const std::string& to);
Ending UpdateAtProxy(const GlobalOptions& global, const std::string& key,
                     std::uint64_t offset, std::span<const std::byte> bytes);
Status StatAtProxy(const GlobalOptions& global, const std::string& key);
// narrow, wide, data blocks of a stripe, all, or transitioning.
Status ListAtProxy(const GlobalOptions& global, const std::string& list);

}  // namespace ers::ctl

#endif  // ERS_CTL_PROXY_COMMANDS_H_
