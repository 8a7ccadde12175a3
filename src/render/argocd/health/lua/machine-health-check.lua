if paused() then
  return health("Suspended", "the machine health check is paused")
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
local allowed = condition("RemediationAllowed")
if allowed == nil or outdated(allowed) or allowed.status == "Unknown" then
  return health("Progressing", "Cluster API has not looked at the machines yet")
end
if allowed.status == "False" then
  return failing("too many machines are unhealthy to replace them", allowed, 10)
end
if status.expectedMachines == nil or status.currentHealthy == nil then
  return health("Progressing", "Cluster API has not counted the machines yet")
end
local counted = status.currentHealthy .. " of " .. status.expectedMachines .. " machines are healthy"
if status.currentHealthy < status.expectedMachines then
  return health("Progressing", counted)
end
return health("Healthy", counted)
