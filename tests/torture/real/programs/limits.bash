# SPDX-License-Identifier: Apache-2.0
# What a shell and its children see of themselves, and limits on them.
ulimit -a
umask
cat /proc/self/status | grep -E '^(Sig(Blk|Ign)|Umask|NoNewPrivs|Seccomp):'
env | cut -d= -f1 | grep -vxE 'LD_PRELOAD|ASAN_OPTIONS|GPUPROF_SOCKET|(CUDA|NVTX)_INJECTION64_PATH' | sort
shopt -p | md5sum
set -o | md5sum
(ulimit -t 1; while :; do :; done); echo "used up: $?"
(trap '' XFSZ; ulimit -f 4; seq 100000 >big) 2>/dev/null; stat -c %s big
(ulimit -s 1024; f() { f; }; echo deep); echo $?
(ulimit -n 3; : </dev/null) 2>/dev/null; echo "no descriptor: $?"
(ulimit -c 0; bash -c 'kill -ABRT $$'); echo "aborted: $?"
timeout 0.2 sleep 9; echo "late: $?"
timeout -s KILL 0.2 sleep 9; echo "killed: $?"
nice -n 19 true; echo "nice: $?"
env -i /bin/sh -c 'echo "empty: $(env | cut -d= -f1 | sort | tr "\n" " ")"'
exec -a another bash -c 'echo "$0"'
