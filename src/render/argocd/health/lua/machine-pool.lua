if paused() then
  return health("Suspended", "the machine pool is paused")
end
if status.phase == "Failed" then
  return health("Degraded", "the machine pool has failed")
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
if status.phase ~= "Running" then
  return health("Progressing", "the phase of the machine pool is " .. (status.phase or "not known yet"))
end
local due = spec.replicas or 1
for _, count in ipairs({ "replicas", "readyReplicas", "upToDateReplicas" }) do
  if status[count] ~= due then
    return health("Progressing", count .. " is " .. tostring(status[count] or "not known yet") .. ", and should be " .. due)
  end
end
return health("Healthy", "all machines are ready and up to date")
