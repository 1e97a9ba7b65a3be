// memcached's text, meta and binary protocols, and our own `ers` lines, as
// bytes. Entry points: RequestReader gives Requests, the functions of reply.h
// write answers. Neither sockets nor the library may come in.
#ifndef ERS_PROXY_PROTOCOL_PROTOCOL_H_
#define ERS_PROXY_PROTOCOL_PROTOCOL_H_
#endif  // ERS_PROXY_PROTOCOL_PROTOCOL_H_
