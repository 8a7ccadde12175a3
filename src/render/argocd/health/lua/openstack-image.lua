local progress, available = condition("Progressing"), condition("Available")
if progress == nil or outdated(progress) or available == nil or outdated(available) then
  return health("Progressing", "the controller has not seen the newest spec yet")
end
if progress.reason == "InvalidConfiguration" or progress.reason == "UnrecoverableError" then
  return health("Degraded", told("the controller has given up", progress))
end
if progress.status ~= "False" then
  return health("Progressing", told("not ready", progress))
end
if available.status ~= "True" then
  return health("Progressing", told("not available", available))
end
return health("Healthy", "available")
