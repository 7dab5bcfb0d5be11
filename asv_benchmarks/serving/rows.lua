-- wrk script: posts the bodies of a file (one JSON text a line) in turn, and prints figures as JSON.
local bodies = {}

function init(args)
  for line in io.lines(args[1]) do bodies[#bodies + 1] = line end
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
end

local at = 0
function request()
  at = at % #bodies + 1
  return wrk.format(nil, "/v1/predict", nil, bodies[at])
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    'JSON {"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "refused": %d, "broken": %d, "late": %d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write, errors.timeout))
end
