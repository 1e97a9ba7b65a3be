// Done, Gotten: what a command has come to.
#ifndef ERS_PROXY_ENGINE_DONE_H_
#define ERS_PROXY_ENGINE_DONE_H_

#include <string>
#include <utility>
#include <vector>

#include "ers/status.h"
#include "ers/value.h"
#include "metrics/counters.h"
#include "protocol/reply.h"

namespace ers::proxy {

struct Done {
  Reply reply;
  std::string text;  // what reply.text points to
  // kInspect, kTransition: the lines of the list, names and values.
  std::vector<std::pair<std::string, std::string>> lines;
};

struct Gotten {
  Done done;
  Value value;
  // A hit whose value is longer than what is handed out in one piece: Stream.
  bool long_value = false;
  bool counted = false;  // the access was sent to the servers
};

// `status` is no success. A failure of servers is counted.
Done Failed(const Status& status, Counters& counters);

}  // namespace ers::proxy

#endif  // ERS_PROXY_ENGINE_DONE_H_
