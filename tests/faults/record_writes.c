/* Preloaded into a process: logs every call that changes files below $RECORD_ROOT to $RECORD_LOG.

   A record is one line of text, `op path [path2 | offset length]`, and for a write its bytes after
   the newline. Paths are absolute and must hold no blanks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static int log_fd = -1;
static char root[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ssize_t (*real_write)(int, const void *, size_t);

#define REAL(name, type, ...) static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void start(void) {
  const char *path = getenv("RECORD_LOG"), *below = getenv("RECORD_ROOT");
  real_write = dlsym(RTLD_NEXT, "write");
  if (!path || !below || !realpath(below, root)) return;
  log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int watched(const char *path) {
  size_t n = strlen(root);
  return log_fd >= 0 && strncmp(path, root, n) == 0 && (path[n] == '/' || !path[n]);
}

static void put(const char *line, const void *data, size_t size) {
  pthread_mutex_lock(&lock);
  real_write(log_fd, line, strlen(line));
  while (size) {
    ssize_t n = real_write(log_fd, data, size);
    if (n <= 0) abort();
    data = (const char *)data + n, size -= n;
  }
  pthread_mutex_unlock(&lock);
}

static void tell(const char *op, const char *path, const char *more) {
  char line[3 * PATH_MAX];
  snprintf(line, sizeof line, "%s %s%s%s\n", op, path, *more ? " " : "", more);
  put(line, NULL, 0);
}

static int path_of(int fd, char *path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, PATH_MAX - 1);
  if (n < 0) return 0;
  path[n] = 0;
  return watched(path);
}

/* The absolute path of a name relative to a folder; its last part need not exist. */
static int resolve(int dirfd, const char *name, char *path) {
  char folder[PATH_MAX], given[2 * PATH_MAX];
  if (*name == '/') snprintf(given, sizeof given, "%s", name);
  else {
    if (dirfd == AT_FDCWD) { if (!getcwd(folder, sizeof folder)) return 0; }
    else { char link[64]; snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
           ssize_t n = readlink(link, folder, PATH_MAX - 1); if (n < 0) return 0; folder[n] = 0; }
    snprintf(given, sizeof given, "%s/%s", folder, name);
  }
  size_t n = strlen(given);
  while (n > 1 && given[n - 1] == '/') given[--n] = 0;
  char *slash = strrchr(given, '/');
  if (slash == given) return 0;
  *slash = 0;
  if (!realpath(given, folder)) return 0;
  if (snprintf(path, PATH_MAX, "%s/%s", folder, slash + 1) >= PATH_MAX) return 0;
  return watched(path);
}

static int opened(int dirfd, const char *name, int flags, mode_t mode, int (*call)(int, const char *, int, ...)) {
  char path[PATH_MAX];
  int below = resolve(dirfd, name, path), is_new = below && access(path, F_OK) != 0;
  int fd = call(dirfd, name, flags, mode);
  if (fd >= 0 && below && is_new && (flags & O_CREAT)) tell("create", path, "");
  else if (fd >= 0 && below && (flags & O_TRUNC)) tell("truncate", path, "0");
  return fd;
}

#define OPEN_BODY(dir) \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
  REAL("openat", int, int, const char *, int, ...); \
  return opened(dir, name, flags, mode, real);
int open(const char *name, int flags, ...) { OPEN_BODY(AT_FDCWD) }
int open64(const char *name, int flags, ...) { OPEN_BODY(AT_FDCWD) }
int openat(int dirfd, const char *name, int flags, ...) { OPEN_BODY(dirfd) }
int openat64(int dirfd, const char *name, int flags, ...) { OPEN_BODY(dirfd) }

ssize_t write(int fd, const void *data, size_t size) {
  char path[PATH_MAX], where[64], line[2 * PATH_MAX];
  int below = log_fd >= 0 && fd != log_fd && path_of(fd, path);
  off_t at = below ? ((fcntl(fd, F_GETFL) & O_APPEND) ? lseek(fd, 0, SEEK_END) : lseek(fd, 0, SEEK_CUR)) : 0;
  ssize_t n = real_write(fd, data, size);
  if (below && n > 0) {
    snprintf(where, sizeof where, "%lld %zd", (long long)at, n);
    snprintf(line, sizeof line, "write %s %s\n", path, where);
    put(line, data, n);
  }
  return n;
}

#define TRUNCATE(name) int name(int fd, off_t size) { \
  REAL(#name, int, int, off_t); char path[PATH_MAX], to[32]; int done = real(fd, size); \
  if (!done && path_of(fd, path)) { snprintf(to, sizeof to, "%lld", (long long)size); tell("truncate", path, to); } \
  return done; }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(name) int name(int fd) { \
  REAL(#name, int, int); \
  char path[PATH_MAX]; \
  int done = real(fd); \
  if (!done && path_of(fd, path)) { tell("fsync", path, ""); } \
  return done; }
SYNC(fsync)
SYNC(fdatasync)

static int renamed(int from_fd, const char *from, int to_fd, const char *to) {
  REAL("renameat", int, int, const char *, int, const char *);
  char source[PATH_MAX], target[PATH_MAX];
  int below = resolve(from_fd, from, source) & resolve(to_fd, to, target);
  int done = real(from_fd, from, to_fd, to);
  if (!done && below) tell("rename", source, target);
  return done;
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to); }

static int removed(int dirfd, const char *name, int flags) {
  REAL("unlinkat", int, int, const char *, int);
  char path[PATH_MAX];
  int below = resolve(dirfd, name, path), done = real(dirfd, name, flags);
  if (!done && below) tell("remove", path, "");
  return done;
}
int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int dirfd, const char *name, int flags) { return removed(dirfd, name, flags); }

static int made(int dirfd, const char *name, mode_t mode) {
  REAL("mkdirat", int, int, const char *, mode_t);
  char path[PATH_MAX];
  int done = real(dirfd, name, mode);
  if (!done && resolve(dirfd, name, path)) tell("mkdir", path, "");
  return done;
}
int mkdir(const char *name, mode_t mode) { return made(AT_FDCWD, name, mode); }
int mkdirat(int dirfd, const char *name, mode_t mode) { return made(dirfd, name, mode); }
