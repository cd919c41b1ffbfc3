#!/bin/sh
# What a container runs: `executor` as Spark starts it in pods of its own, anything else is for logpersister.
set -eu

if [ "${1:-}" != executor ]; then
    exec logpersister "$@"
fi

# The variables are those that Spark's driver writes into the pod (BasicExecutorFeatureStep of Spark's Kubernetes
# module). Options of the JVM are numbered, and may hold blanks.
set --
number=0
while option=$(printenv "SPARK_JAVA_OPT_$number"); do
    set -- "$@" "$option"
    number=$((number + 1))
done

echo $$ >/tmp/executor.pid # exec keeps the process; `decommission` signals it
exec "$JAVA_HOME/bin/java" "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" \
    --executor-id "$SPARK_EXECUTOR_ID" \
    --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" \
    --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" \
    --podName "$SPARK_EXECUTOR_POD_NAME"
