-- The health of a LogPersister for Argo CD, by its conditions (docs/status.md). Lua 5.1, no libraries.
local health = {status = "Progressing", message = "waits for the operator to look at it"}
local status = obj.status
if status == nil or status.conditions == nil then
  return health
end
if status.observedGeneration ~= obj.metadata.generation then
  health.message = "the operator has not looked at the newest spec yet"
  return health
end

local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local function is(kind, value)
  return conditions[kind] ~= nil and conditions[kind].status == value
end
local function verdict(word, kind)
  return {status = word, message = conditions[kind].reason .. ": " .. conditions[kind].message}
end

if is("Stalled", "True") then
  return verdict("Degraded", "Stalled")
end
if is("ReconciliationPaused", "True") then
  return verdict("Suspended", "ReconciliationPaused")
end
if is("Paused", "True") then
  return verdict("Suspended", "Paused")
end
if is("UploadsSucceeding", "False") then
  return verdict("Degraded", "UploadsSucceeding")
end
if is("LagWithinTarget", "False") and conditions.LagWithinTarget.reason == "PartitionStuck" then
  return verdict("Degraded", "LagWithinTarget")
end
if is("Ready", "True") then
  return verdict("Healthy", "LagWithinTarget")
end
if is("Reconciling", "True") then
  return verdict("Progressing", "Reconciling")
end
if conditions.Ready ~= nil then
  return verdict("Progressing", "Ready")
end
return health
