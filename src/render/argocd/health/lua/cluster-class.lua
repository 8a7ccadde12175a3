if paused() then
  return health("Suspended", "the cluster class is paused")
end
-- Before the generation: where templates are missing, the controller reports an error and never records the generation.
local references = condition("RefVersionsUpToDate")
if references ~= nil and not outdated(references) and references.reason == "InternalError" then
  return failing("templates of the class cannot be read", references, 10)
end
local variables = condition("VariablesReady")
if variables ~= nil and not outdated(variables) and variables.status == "False" then
  return failing("variables of the class cannot be read", variables, 10)
end
if unseen() then
  return health("Progressing", "Cluster API has not seen the newest spec yet")
end
for _, kind in ipairs({ "RefVersionsUpToDate", "VariablesReady" }) do
  local found = condition(kind)
  if found == nil or outdated(found) or found.status == "Unknown" then
    return health("Progressing", "Cluster API is still reading the class")
  end
end
if references.status == "False" then
  return health("Healthy", told("the class can be used, but refers to old versions", references))
end
return health("Healthy", "the class can be used")
