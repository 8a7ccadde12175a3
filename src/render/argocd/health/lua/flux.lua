if spec.suspend == true then
  return health("Suspended", "suspended")
end
-- Flux writes no status for it.
if obj.kind == "HelmRepository" and spec.type == "oci" then
  return health("Healthy", "a registry needs no reconciliation")
end
local ready, stalled = condition("Ready"), condition("Stalled")
if stalled ~= nil and not outdated(stalled) and stalled.status == "True" then
  return health("Degraded", told("Flux has given up", stalled))
end
if ready == nil or outdated(ready) then
  return health("Progressing", "Flux has not seen the newest spec yet")
end
if ready.status == "True" then
  if unseen() then
    return health("Progressing", "Flux has not seen the newest spec yet")
  end
  return health("Healthy", told("ready", ready))
end
-- A retry makes Ready begin anew; these keep the time of the first failure.
for _, kind in ipairs({ "Released", "Healthy" }) do
  local failed = condition(kind)
  if failed ~= nil and failed.status == "False" and not outdated(failed) then
    return failing("not ready", failed, 10)
  end
end
if ready.status == "False" and ready.reason ~= "DependencyNotReady" then
  return failing("not ready", ready, 10)
end
return health("Progressing", told("not ready", ready))
