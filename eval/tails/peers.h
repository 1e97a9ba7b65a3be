// Which process of this machine has the other end of a connection.
#ifndef ERS_EVAL_TAILS_PEERS_H_
#define ERS_EVAL_TAILS_PEERS_H_

namespace ers::eval {

// Whether the process has a TCP socket of 127.0.0.1 from port `from` to port
// `to`. Reads /proc: of an own process, or as root.
bool Owns(int pid, int from, int to);

}  // namespace ers::eval

#endif  // ERS_EVAL_TAILS_PEERS_H_
