if paused() then
  return health("Suspended", "paused")
end
-- Before the generation of the status, which Cluster API records only when it could reconcile.
local available = condition("Available")
if available ~= nil and not outdated(available) and available.status == "False" then
  return failing("not enough machines are available", available, 60)
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
if available == nil or outdated(available) then
  return health("Progressing", "Cluster API does not say yet whether enough machines are available")
end
for _, kind in ipairs({ "RollingOut", "ScalingUp", "ScalingDown" }) do
  local found = condition(kind)
  if found == nil or outdated(found) or found.status == "Unknown" then
    return health("Progressing", "Cluster API does not say yet whether machines change (" .. kind .. ")")
  end
end
for _, kind in ipairs({ "RollingOut", "ScalingUp", "ScalingDown", "Remediating" }) do
  if is(kind, "True") then
    return health("Progressing", told(kind, condition(kind)))
  end
end
if available.status ~= "True" then
  return health("Progressing", told("it is not known whether enough machines are available", available))
end
return health("Healthy", "all machines are up to date, and enough of them are available")
