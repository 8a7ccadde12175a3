local progress, available = condition("Progressing"), condition("Available")
if progress == nil or outdated(progress) or available == nil or outdated(available) then
  return health("Progressing", "the controller has not seen the newest spec yet")
end
if progress.reason == "InvalidConfiguration" or progress.reason == "UnrecoverableError" then
  return health("Degraded", described("the controller has given up", progress))
end
if progress.status ~= "False" then
  return health("Progressing", described("not ready", progress))
end
if available.status ~= "True" then
  return health("Progressing", described("not available", available))
end
return health("Healthy", "available")
