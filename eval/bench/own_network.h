// A network of the benchmark's own: loopback alone, with CUBIC. Figures then do
// not hang on the congestion control that the machine is set to: BBR, for one,
// paces each connection by what it has measured there.
#ifndef ERS_EVAL_BENCH_OWN_NETWORK_H_
#define ERS_EVAL_BENCH_OWN_NETWORK_H_

#include <string>

namespace ers::bench {

// Moves this thread there, and what it starts from now on. Where it may not, or
// without iproute2, it stays in the machine's. Says which congestion control
// connections on loopback have then, and in which network. Before there is any
// other thread.
std::string EnterOwnNetwork();

}  // namespace ers::bench

#endif  // ERS_EVAL_BENCH_OWN_NETWORK_H_
