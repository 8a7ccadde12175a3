local sync, operation = status.sync or {}, status.operationState or {}
-- An Application with this annotation holds up the next wave until it is applied, not until its objects are healthy. Some objects
-- are healthy only when the nodes are, and a sync that waits for them takes no new commit, not even the one that mends them.
local gated = (meta.annotations or {})["stackloom.dev/gate"] == "synced"
local automated = (spec.syncPolicy or {}).automated

-- Whether two fields of objects are equal.
local function same(one, other)
  if type(one) ~= "table" or type(other) ~= "table" then
    return one == other
  end
  for key, value in pairs(one) do
    if not same(value, other[key]) then
      return false
    end
  end
  for key in pairs(other) do
    if one[key] == nil then
      return false
    end
  end
  return true
end

-- What Argo CD reports is about the sources that it compared last. Right after an Application has changed, these are the old ones:
-- without this, the next wave would start before this one is applied.
local function is_compared()
  local compared = sync.comparedTo
  if compared == nil then
    return true
  end
  local sources = spec.sources ~= nil and same(spec.sources, compared.sources)
    or spec.sources == nil and same(spec.source, compared.source)
  return sources and same(spec.destination, compared.destination)
end

local manual = automated == nil or automated.enabled == false
-- Nothing comes of waiting for a sync that a person must start: the sync that waits would never end, and take no commit that
-- makes this one automatic again.
if gated and manual and sync.status ~= "Synced" and operation.phase ~= "Running" then
  return health("Healthy", "not synced; its syncs are manual, and no wave waits for them")
end
if gated then
  local retried = operation.phase == "Running" and (operation.retryCount or 0) > 0
  if retried or operation.phase == "Failed" or operation.phase == "Error" then
    return health("Degraded", operation.message or "the last sync failed")
  end
  local patience = { ComparisonError = 2, InvalidSpecError = 10 }
  for _, found in ipairs(status.conditions or {}) do
    local is_old = found.type == "ComparisonError" and not is_compared()
    if patience[found.type] ~= nil and not is_old then
      return failing("Argo CD cannot compare the application", found, patience[found.type])
    end
  end
end
if not is_compared() then
  return health("Progressing", "Argo CD has not compared the application since it changed")
end
if status.health == nil or status.health.status == nil then
  return health("Progressing", "Argo CD has not looked at the application yet")
end
if status.health.status == "Degraded" or (status.health.status == "Suspended" and not gated) then
  return health(status.health.status, status.health.message or "as its objects are")
end
if operation.phase == "Running" or obj.operation ~= nil then
  return health("Progressing", operation.message or "a sync is running")
end
if sync.status ~= "Synced" then
  if sync.status == "OutOfSync" and manual then
    return health("Suspended", "out of sync, and its syncs are manual")
  end
  return health("Progressing", "not synced yet")
end
if status.health.status ~= "Healthy" then
  local state = status.health.message or ("its health is " .. status.health.status)
  return health(gated and "Healthy" or "Progressing", state)
end
return health("Healthy", "synced, and all objects are healthy")
