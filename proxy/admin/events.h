// The event log as the admin port shows it.
#ifndef ERS_PROXY_ADMIN_EVENTS_H_
#define ERS_PROXY_ADMIN_EVENTS_H_

#include <string>
#include <vector>

#include "metrics/event_log.h"

namespace ers::proxy {

// {"events": [...]}, in the order given (docs/reference/protocol.md).
std::string EventsText(const std::vector<Event>& events);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_EVENTS_H_
