/* A user's program in C: prints the library's version. */
#include <ers/ers.h>
#include <stdio.h>

int main(void) {
  puts(ers_version());
  return 0;
}
