// What holds a namespace: it does nothing, reaps what is left to it, and ends when told to. A node's process 1 is one,
// and so is that of every pod (Kubernetes calls it the pause container).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void end(int signal) {
  (void)signal;
  _exit(0);
}

static void reap(int signal) {
  (void)signal;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) {
    pause();
  }
}
