#!/bin/sh
# Before an executor's pod is stopped: it takes no new tasks, and ends when those that run have ended. Kubernetes waits
# for this script for as long as the pod's grace period.
set -eu

process=$(cat /tmp/executor.pid)
echo "decommissioning executor" >/proc/1/fd/1
kill -PWR "$process"
while kill -0 "$process" 2>/dev/null; do
    sleep 0.2
done
