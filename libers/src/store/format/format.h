// What lies on the servers, byte by byte (docs/reference/format.md): names,
// manifests, block headers, views, entries of processes. Entry points: Encode
// and Decode of each, and ObjectMap, which says where an object's blocks are.
// All of it is pure: nothing that waits, sends or keeps state may come in.
#ifndef ERS_STORE_FORMAT_FORMAT_H_
#define ERS_STORE_FORMAT_FORMAT_H_
#endif  // ERS_STORE_FORMAT_FORMAT_H_
