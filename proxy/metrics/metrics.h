// What is counted, and its tables; and what happened. Entry points: Counters
// and Totals; metric_table.h and store_table.h, in which each metric stands
// once; EventLog. How a
// metric is shown is for admin/ and server/stats.h; nothing that answers a
// request may come in.
#ifndef ERS_PROXY_METRICS_METRICS_H_
#define ERS_PROXY_METRICS_METRICS_H_
#endif  // ERS_PROXY_METRICS_METRICS_H_
