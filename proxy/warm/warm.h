// The old pool: servers, or another proxy, that a miss is asked at while a
// cluster is filled. Entry points: OldPool; WarmFlights, which lets one ask for
// all. What becomes of an answer is for engine/; no command of clients may come
// in.
#ifndef ERS_PROXY_WARM_WARM_H_
#define ERS_PROXY_WARM_WARM_H_
#endif  // ERS_PROXY_WARM_WARM_H_
