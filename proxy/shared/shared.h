// Forms that the daemon's rooms and ersctl share: addresses, tokens, key
// patterns, lines of the log, base64, and sockets that listen. Each header is
// an entry point. Nothing that knows the library's internals, or a request, may
// come in.
#ifndef ERS_PROXY_SHARED_SHARED_H_
#define ERS_PROXY_SHARED_SHARED_H_
#endif  // ERS_PROXY_SHARED_SHARED_H_
