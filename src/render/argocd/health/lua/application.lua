local sync, operation = status.sync or {}, status.operationState or {}
-- An Application with this annotation holds up the next wave until it is applied, not until its objects are healthy. Some objects
-- are healthy only when the nodes are, and a sync that waits for them takes no new commit, not even the one that mends them.
local gated = (meta.annotations or {})["stackloom.dev/gate"] == "synced"
local automated = (spec.syncPolicy or {}).automated

-- The files with values of a chart, as one text.
local function files(sources)
  local names = {}
  for _, source in ipairs(sources or {}) do
    for _, name in ipairs((source.helm or {}).valueFiles or {}) do
      table.insert(names, name)
    end
  end
  return table.concat(names, "\n")
end

-- An Application that waits for its wave names files that its repository no longer has. Once the wave has come, it names others, and
-- the error is about those before.
local function names_other_files()
  local compared = sync.comparedTo
  return compared ~= nil and files(compared.sources) ~= files(spec.sources)
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
    if found.type == "ComparisonError" and names_other_files() then
      return health("Progressing", "Argo CD has not compared the application since it changed")
    end
    if patience[found.type] ~= nil then
      return failing("Argo CD cannot compare the application", found, patience[found.type])
    end
  end
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
