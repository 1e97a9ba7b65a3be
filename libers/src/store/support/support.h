// What the store waits by and counts with: time, memory, rates, wake-ups. Entry
// points: Pace and RateLimiter, BoundedMemory and BufferPool, Wakeup,
// StopToken, StepTimer, ClusterClock, EvictionWatch, MemoryNeeds, LateServers,
// SessionCounters. Nothing that sends to a server, or knows what lies there,
// may come in.
#ifndef ERS_STORE_SUPPORT_SUPPORT_H_
#define ERS_STORE_SUPPORT_SUPPORT_H_
#endif  // ERS_STORE_SUPPORT_SUPPORT_H_
