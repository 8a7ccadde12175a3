{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made", namespace: "blue" } }
