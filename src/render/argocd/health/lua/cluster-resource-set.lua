if paused() then
  return health("Suspended", "paused")
end
-- Before the generation of the status, which Cluster API records only when it could apply everything.
local applied = condition("ResourcesApplied")
if applied == nil or outdated(applied) or applied.status == "Unknown" then
  return health("Progressing", "no cluster has taken the resources yet")
end
if applied.status == "False" then
  if applied.reason == "WrongSecretType" then
    return health("Degraded", told("the resources cannot be applied", applied))
  end
  return failing("the resources are not applied", applied, 60)
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
return health("Healthy", "the resources are applied")
