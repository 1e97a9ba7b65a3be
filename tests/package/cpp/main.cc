// A user's program: prints the library's version.
#include <ers/client.h>
#include <ers/status.h>

#include <iostream>

int main() {
  if (ers::StatusCodeName(ers::StatusCode::kNotFound) != "not-found") return 1;
  std::cout << ers::Version() << "\n";
}
