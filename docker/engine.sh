#!/usr/bin/env bash
# Install what the tool sandboxes run in: Docker's engine, bubblewrap, busybox, sqlite3; and the kernel's headers,
# which the tests hold the system-call filter against. Debian and Ubuntu.
set -eu
need=""
command -v dockerd >/dev/null || need="$need docker.io"
command -v bwrap >/dev/null || need="$need bubblewrap"
[ -x /bin/busybox ] || [ -x /usr/bin/busybox ] || need="$need busybox-static"
command -v sqlite3 >/dev/null || need="$need sqlite3"
[ -f /usr/include/asm-generic/unistd.h ] || need="$need linux-libc-dev"
if [ -z "$need" ]; then echo "engine: dockerd, bwrap, busybox, sqlite3 and kernel headers are installed"; exit 0; fi
command -v apt-get >/dev/null || { echo "engine: install by hand:$need" >&2; exit 4; }
if [ "$(id -u)" = 0 ]; then sudo=""; elif command -v sudo >/dev/null; then sudo=sudo; else
  echo "engine: system packages are needed; as root run: apt-get install$need" >&2; exit 4
fi
echo "engine: installing$need${sudo:+ (with sudo)}" >&2
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $need >&2
echo "engine: installed"
