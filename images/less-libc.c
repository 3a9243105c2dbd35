/* What boson-pod does without of the C library. A static executable gets whole chains of it for things that it never does:
   message catalogues, wide characters and their conversions, formatted input and output, a resolver; 230 KB of it.
   images/build has the linker replace these functions (--wrap). Where another version of the C library does not have one
   of them, nothing is replaced, and the executable is larger. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Rust's own use of it: to say that it was the stack that overflowed. The process is killed anyway. */
int __wrap_pthread_getattr_np(unsigned long thread, void *attributes) {
  (void)thread;
  (void)attributes;
  return ENOSYS;
}

/* A thread of Rust's names itself only. */
int __wrap_pthread_setname_np(unsigned long thread, const char *name) {
  (void)thread;
  return prctl(PR_SET_NAME, name) == 0 ? 0 : errno;
}

/* Functions that newer C libraries have: what is inside here is known when it is linked. */
void *__wrap_dlsym(void *library, const char *name) {
  (void)library;
  (void)name;
  return NULL;
}

/* Messages are in English. */
char *__wrap___dcgettext(const char *domain, const char *message, int category) {
  (void)domain;
  (void)category;
  return (char *)message;
}

char *__wrap_dcgettext(const char *domain, const char *message, int category) {
  return __wrap___dcgettext(domain, message, category);
}

const char *strerrordesc_np(int number);

int __wrap___xpg_strerror_r(int number, char *buffer, size_t size) {
  const char *text = strerrordesc_np(number);
  if (text == NULL) text = "Unknown error";
  if (size == 0) return ERANGE;
  size_t length = strnlen(text, size - 1);
  memcpy(buffer, text, length);
  buffer[length] = '\0';
  return 0;
}

/* The C library's own assertions, and what it would print: statistics of its memory, complaints about resolv.conf. */
void __wrap___assert_fail(const char *assertion, const char *file, unsigned line, const char *function) {
  (void)file;
  (void)line;
  (void)function;
  ssize_t ignored = write(STDERR_FILENO, assertion, strlen(assertion));
  (void)ignored;
  abort();
}

int __wrap___fxprintf(void *file, const char *format, ...) {
  (void)file;
  (void)format;
  return 0;
}

int __wrap_fprintf(void *file, const char *format, ...) {
  (void)file;
  (void)format;
  return 0;
}

/* Threads carry the state of a resolver with them. Names are resolved by the crate `resolver`; getaddrinfo is wrapped by
   nothing, so that whoever begins to use it is told by the linker. */
int __wrap___res_vinit(void *state, int preinit) {
  (void)state;
  (void)preinit;
  return -1;
}

void __wrap___res_iclose(void *state, _Bool free_addresses) {
  (void)state;
  (void)free_addresses;
}
