// What /metrics and `stats` have, for readers: docs/reference/metrics.md.
#ifndef ERS_PROXY_ADMIN_METRICS_LIST_H_
#define ERS_PROXY_ADMIN_METRICS_LIST_H_

#include <string>

namespace ers::proxy {

// Markdown, from the tables that both are made of.
std::string MetricsList();

}  // namespace ers::proxy

#endif  // ERS_PROXY_ADMIN_METRICS_LIST_H_
