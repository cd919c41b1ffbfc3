"""What is there: children in the cluster, lag in Kafka, reports of members, Secrets. Observing never acts."""
