#!/usr/bin/env bash
# Make sure there is a Chromium: an installed one, else Playwright's own download, else Debian's package.
# usage: browser.sh PYTHON
set -u
python=$1
found() { "$python" -c 'from arena.envs.web.chromium import find_chromium; print(find_chromium())' 2>/dev/null; }

if path=$(found); then echo "browser: $path"; exit 0; fi
echo "browser: none installed; trying Playwright's own download" >&2
if timeout 600 "$python" -m playwright install chromium >/dev/null 2>&1 && path=$(found); then
  echo "browser: $path"; exit 0
fi
if command -v apt-get >/dev/null; then
  if [ "$(id -u)" = 0 ]; then sudo=""; elif command -v sudo >/dev/null; then sudo=sudo; else
    echo "browser: a system package is needed; as root run: apt-get install chromium" >&2; exit 4
  fi
  echo "browser: installing Debian's package${sudo:+ (with sudo)}" >&2
  $sudo apt-get update -qq >&2
  if DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >&2 \
    && path=$(found); then echo "browser: $path"; exit 0; fi
fi
echo "browser: could not install one; install Chromium or Chrome, or set ARENA_CHROMIUM=/path/to/it" >&2
exit 4
