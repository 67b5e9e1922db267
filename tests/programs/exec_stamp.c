/* exec_stamp FILE BEFORE COMMAND...: appends to FILE how many ns have passed since BEFORE, and executes COMMAND. BEFORE
 * is the time (CLOCK_MONOTONIC) at which the caller called exec. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (argc < 4) {
    return 2;
  }
  char line[32];
  const long long passed = now.tv_sec * 1000000000LL + now.tv_nsec - strtoll(argv[2], NULL, 10);
  const int size = snprintf(line, sizeof line, "%lld\n", passed);
  const int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, (size_t)size) != size) {
    return 3;
  }
  close(file);
  execv(argv[3], argv + 3);
  return 4;
}
