// What `ersctl top` shows: a cluster at a glance, as lines of text.
#ifndef ERS_CTL_COMMANDS_TOP_TEXT_H_
#define ERS_CTL_COMMANDS_TOP_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "ctl/support/report.h"

namespace ers::ctl {

struct Screen {
  std::size_t columns = 0;  // 0: as many as a line takes
  std::size_t lines = 0;    // 0: as many as there are
  bool colours = false;     // ANSI's
};

// `status` and `events` as the admin port of `proxy` answered; `lost`: why it
// does not any more, else empty. No line is longer than the screen.
std::string TopText(const Json& status, const Json& events,
                    std::string_view proxy, std::string_view lost,
                    const Screen& screen);

}  // namespace ers::ctl

#endif  // ERS_CTL_COMMANDS_TOP_TEXT_H_
