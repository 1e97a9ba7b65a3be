// The manifest replicas of one key: read, reconciled, written. Entry points:
// ReplicaSet and ReplicaCopy. Nothing that knows blocks may come in.
#ifndef ERS_STORE_REPLICAS_REPLICAS_H_
#define ERS_STORE_REPLICAS_REPLICAS_H_
#endif  // ERS_STORE_REPLICAS_REPLICAS_H_
