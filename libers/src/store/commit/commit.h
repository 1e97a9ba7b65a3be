// The loop of every change: stage blocks, prepare, commit, drop what was
// replaced. Entry points: CommitChange, StageAndPrepare, RunPlans,
// CurrentManifest. Nothing that knows what a change is for may come in.
#ifndef ERS_STORE_COMMIT_COMMIT_H_
#define ERS_STORE_COMMIT_COMMIT_H_
#endif  // ERS_STORE_COMMIT_COMMIT_H_
