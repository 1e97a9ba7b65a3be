// What a garbage collection came to, as JSON.
#ifndef ERS_PROXY_SHARED_GARBAGE_JSON_H_
#define ERS_PROXY_SHARED_GARBAGE_JSON_H_

#include <nlohmann/json.hpp>

#include "ers/garbage.h"

namespace ers::proxy {

inline nlohmann::ordered_json GarbageJson(const GarbageReport& report,
                                          bool dry_run) {
  nlohmann::ordered_json json = {{"dry_run", dry_run},
                                 {"listed", report.listed},
                                 {"live", report.live},
                                 {"young", report.young},
                                 {"expiring", report.expiring},
                                 {"dropped", report.dropped},
                                 {"dropped_bytes", report.dropped_bytes},
                                 {"skipped", report.skipped},
                                 {"flushed", report.flushed},
                                 {"packs", report.packs},
                                 {"silent", report.silent}};
  if (!report.why.ok()) json["why"] = report.why.message();
  return json;
}

}  // namespace ers::proxy

#endif  // ERS_PROXY_SHARED_GARBAGE_JSON_H_
