// Traces of requests for an OpenTelemetry collector. Entry points: RequestTrace
// and TraceExporter. How requests are sampled and measured is the server's; no
// request may wait for anything here.
#ifndef ERS_PROXY_TRACING_TRACING_H_
#define ERS_PROXY_TRACING_TRACING_H_
#endif  // ERS_PROXY_TRACING_TRACING_H_
