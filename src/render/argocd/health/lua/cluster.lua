if paused() then
  return health("Suspended", "the cluster is paused")
end
-- Before the generation of the status, which Cluster API records only when it could reconcile.
if spec.topology ~= nil then
  local topology = condition("TopologyReconciled")
  if topology == nil or outdated(topology) then
    return health("Progressing", "the topology controller has not seen the newest spec yet")
  end
  if topology.status ~= "True" then
    if topology.reason == "ReconcileFailed" then
      return failing("the topology cannot be reconciled", topology, 10)
    end
    return health("Progressing", told("the topology is not reconciled", topology))
  end
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
local available = condition("Available")
if available == nil or outdated(available) then
  return health("Progressing", "Cluster API does not say yet whether the cluster is available")
end
if available.status == "False" then
  return failing("the cluster is not available", available, 60)
end
if available.status ~= "True" then
  return health("Progressing", told("it is not known whether the cluster is available", available))
end
local rolling = condition("RollingOut")
if rolling ~= nil and rolling.status == "True" then
  return health("Progressing", told("machines are being replaced", rolling))
end
return health("Healthy", "the cluster is available")
