#!/usr/bin/env bash
# soak.sh: runs every campaign of random faults that this machine can run, in rounds, until HOURS (24; a fraction is fine)
# are over. The first round is always run to its end: a verdict speaks of every campaign. Each round has new seeds. Each line names the command that repeats it. A round that fails does not end the
# others, and its output is kept. After the last round, or Ctrl-C, the script prints a verdict. It ends with 1 if anything
# failed, or if nothing was run to its end.
set -euo pipefail
set -m # each campaign is a process group of its own
cd "$(dirname "$0")/../../.."
seconds=$(awk -v hours="${HOURS:-24}" 'BEGIN { if (hours !~ /^[0-9]*\.?[0-9]+$/) exit 1; printf "%d", hours * 3600 }') || {
	echo "soak.sh: HOURS must be a number such as 24 or 0.5" >&2
	exit 2
}
limit=2h # a campaign that takes longer hangs
output=$(mktemp -d "${TMPDIR:-/tmp}/payfold-soak.XXXXXX")

campaigns=() # TARGET SIZE SEED; each takes some minutes
campaigns+=('test-schedules SCHEDULES=40000 SCHEDULE_SEED')
campaigns+=('test-campaign FAULT_ROUNDS=10 FAULT_SEED')
if [ -w /dev/fuse ]; then
	campaigns+=('test-power-cuts POWER_CUTS=10 POWER_SEED')
else
	echo "NOT RUN: the power cuts and the disks of a cluster (make test-power-cuts, test-cluster-disks) need a writable /dev/fuse"
fi
if internal/testenv/cluster/in-namespaces.sh true >"$output/namespaces" 2>&1; then
	campaigns+=('test-cluster CLUSTER_ROUNDS=10 CLUSTER_SEED')
	[ ! -w /dev/fuse ] || campaigns+=('test-cluster-disks DISK_ROUNDS=10 CLUSTER_SEED')
else
	echo "NOT RUN: the faults of a cluster (make test-cluster) need root and network namespaces"
fi
campaigns+=('test-properties PROPERTY_CHECKS=100 PROPERTY_SEED')
campaigns+=('test-arrivals ARRIVAL_ROUNDS=3 ARRIVAL_SEED')
campaigns+=('fuzz FUZZTIME=20000x -') # Go keeps an input that fails, and names its file in the output

declare -A rounds=() faults=()
failed=()
stopped=''
running=''
stop() {
	stopped=yes
	[ -z "$running" ] || kill -TERM -- "-$running" 2>/dev/null || true
}
trap stop INT TERM

# run TARGET SIZE SEED: one round of a campaign.
run() {
	local command="make $1 $2" log status=0
	[ "$3" = - ] || command="$3=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ') $command"
	log=$output/$1-$((${rounds[$1]:-0} + 1))
	# shellcheck disable=SC2086 # the words of the command
	env -u MAKEFLAGS -u MAKELEVEL timeout -k 1m "$limit" env $command >"$log" 2>&1 </dev/null &
	running=$!
	wait "$running" || status=$?
	if [ -n "$stopped" ]; then
		wait "$running" || true # a signal ends the first wait
		return
	fi
	running=''
	rounds[$1]=$((${rounds[$1]:-0} + 1))
	if [ "$status" = 0 ]; then
		rm "$log"
		echo "$(date -u +%FT%TZ) ok: $command"
		return
	fi
	faults[$1]=$((${faults[$1]:-0} + 1))
	failed+=("$command (output: $log)")
	echo "$(date -u +%FT%TZ) FAILED with $status: $command (output: $log)"
}

echo "soak of $seconds seconds"
for ((round = 1; ; round++)); do
	for campaign in "${campaigns[@]}"; do
		if [ -n "$stopped" ] || { [ "$round" != 1 ] && [ "$SECONDS" -ge "$seconds" ]; }; then
			break 2
		fi
		# shellcheck disable=SC2086 # the words of the campaign
		run $campaign
	done
done

total=0
echo "VERDICT after $SECONDS seconds"
for campaign in "${campaigns[@]}"; do
	target=${campaign%% *}
	echo "$target: ${rounds[$target]:-0} rounds, ${faults[$target]:-0} failed"
	total=$((total + ${rounds[$target]:-0}))
done
if [ ${#failed[@]} != 0 ]; then
	printf 'FAILED: %s\n' "${failed[@]}"
	exit 1
fi
rm -r "$output"
if [ "$total" = 0 ]; then
	echo 'no round was run to its end'
	exit 1
fi
echo 'nothing failed'
