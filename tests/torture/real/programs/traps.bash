# SPDX-License-Identifier: Apache-2.0
# Traps of signals and of the shell's own events, in shells, subshells and functions.
trap 'echo usr1 in $BASHPID_NAME' USR1
BASHPID_NAME=main
for i in {1..20}; do kill -USR1 $$; done
trap 'echo term ignored' TERM
kill -TERM $$
(trap 'echo subshell ends' EXIT; exit 3)
echo "subshell: $?"
(trap '' INT; kill -INT $BASHPID; echo "INT ignored")
bash -c 'kill -KILL $$'; echo "killed: $?"
bash -c 'kill -SEGV $$'; echo "faulted: $?"
bash -c 'trap "exit 7" HUP; kill -HUP $$; sleep 5'; echo "hung up: $?"
set -o errtrace
count=0
trap 'count=$((count + 1))' ERR
f() { false; true; }
f; false; (false) ; true
echo "errors: $count"
trap - ERR
seen=0
trap 'seen=$((seen + 1))' DEBUG
true; true; true
trap - DEBUG
echo "debug: $seen"
g() { trap 'echo returned' RETURN; return 4; }
g; echo "status $?"
trap 'echo child ended' CHLD
sleep 0.05 & wait $!
trap - CHLD
trap -p | sort
trap 'echo bye; exit 5' EXIT
