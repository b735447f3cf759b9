// Requirements of the right tool in every turn: N1xx names, N2xx starts, N3xx failures, N4xx choice, N5xx the list, N6xx settings, N7xx what the editor sees, N8xx editors.

export const TURN_REQUIREMENTS = [
  // N100 to N199: names a model can read.
  // N200 to N299: slow first starts, restarts, order and number of servers.
  // N300 to N399: failures are failures to every model.
  // N400 to N499: choice per request.
  // N500 to N599: the list tells the truth.
  // N600 to N699: modes and settings.
  // N700 to N799: what the editor sees, terminals of clients.
  // N800 to N899: editors, registry, documented extensions.
] as const;
