-- Argo CD opens the libraries base and table alone; its os holds time and date alone, and is not global.
local os = os or require("os")
local meta, spec, status = obj.metadata or {}, obj.spec or {}, obj.status or {}

local function health(state, message)
  return { status = state, message = message }
end

-- Objects of Cluster API that are served as v1beta1 keep the conditions of v1beta2 apart.
local conditions = (status.v1beta2 or status).conditions or {}

local function condition(kind)
  for _, found in ipairs(conditions) do
    if found.type == kind then
      return found
    end
  end
end

local function is(kind, value)
  local found = condition(kind)
  return found ~= nil and found.status == value
end

local function told(what, found)
  local why = found.message
  if why == nil or why == "" then
    why = found.reason or "no reason given"
  end
  return what .. ": " .. why
end

-- Whether a controller wrote this before it saw the newest spec.
local function outdated(written)
  return meta.generation ~= nil and (written.observedGeneration or meta.generation) < meta.generation
end

local function unseen()
  return status.observedGeneration == nil or outdated(status)
end

-- Degraded once a condition has kept its status for so many minutes; until then, controllers try again. Without a library for
-- strings, times compare as text. The table is in UTC, and both calls read it in the local time zone, which cancels out.
local function failing(what, found, minutes)
  local limit = os.date("%Y-%m-%dT%H:%M:%SZ", os.time(os.date("!*t")) - 60 * minutes)
  if found.lastTransitionTime ~= nil and found.lastTransitionTime < limit then
    return health("Degraded", told(what .. " for over " .. minutes .. " minutes", found))
  end
  return health("Progressing", told(what, found))
end

local function paused()
  local annotations = meta.annotations or {}
  return spec.paused == true or annotations["cluster.x-k8s.io/paused"] ~= nil or is("Paused", "True")
end

if meta.deletionTimestamp ~= nil then
  return health("Progressing", "being deleted")
end
