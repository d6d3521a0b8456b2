# Sandbox image with GNU tools, for task packs that need more than busybox.
# Built by `arena sandbox build debian`; its file system is exported, packed reproducibly and named by the
# sha256 of that tar. busybox-static is required: the sandbox's own helpers (tar, setsid, sh) run on it.
FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends busybox-static sqlite3 jq \
 && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/share/doc /usr/share/man /usr/share/locale \
 && useradd -u 1000 -d /task -s /bin/sh agent \
 && useradd -u 1001 -d / -s /usr/sbin/nologin idle \
 && mkdir -p /task
