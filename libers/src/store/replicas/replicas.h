// The manifest replicas of one key: read, reconciled, written. Entry points:
// ReplicaSet and ReplicaCopy. Nothing that knows blocks may come in.
//
// A replica set is made of KeyTurn (when, and for how long, it may try),
// CopyRead (what one replica shows), ReplicaReader and ReplicaWriter (what all
// hold, and one write to one), Reconciler, Committer and Exporter. What makes a
// change committed, and which copy decides, is the business of the last three
// alone.
#ifndef ERS_STORE_REPLICAS_REPLICAS_H_
#define ERS_STORE_REPLICAS_REPLICAS_H_
#endif  // ERS_STORE_REPLICAS_REPLICAS_H_
