local sync, operation = status.sync or {}, status.operationState or {}
if status.health == nil or status.health.status == nil then
  return health("Progressing", "Argo CD has not looked at the application yet")
end
if status.health.status == "Degraded" or status.health.status == "Suspended" then
  return health(status.health.status, status.health.message or "as its objects are")
end
if operation.phase == "Running" or obj.operation ~= nil then
  return health("Progressing", operation.message or "a sync is running")
end
if sync.status ~= "Synced" then
  local automated = (spec.syncPolicy or {}).automated
  if sync.status == "OutOfSync" and (automated == nil or automated.enabled == false) then
    return health("Suspended", "out of sync, and its syncs are manual")
  end
  return health("Progressing", "not synced yet")
end
if status.health.status ~= "Healthy" then
  return health("Progressing", status.health.message or ("its health is " .. status.health.status))
end
return health("Healthy", "synced, and all objects are healthy")
