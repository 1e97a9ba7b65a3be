// Threads and clients' connections. Entry points: Worker and Stats. What a
// command means is the engine's; no HTTP may come in. A client is a Connection:
// its bytes are in a ClientStream, its requests in a RequestPipeline, and a
// RequestRunner has the engine answer them.
#ifndef ERS_PROXY_SERVER_SERVER_H_
#define ERS_PROXY_SERVER_SERVER_H_
#endif  // ERS_PROXY_SERVER_SERVER_H_
