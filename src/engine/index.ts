// The door of the engine room: the loop, its transcript and its events.

export { toolTokens } from "./context/estimate.js";
export { TokenMeter } from "./context/meter.js";
export { compactBetweenTurns } from "./context/on-demand.js";
export type {
  CallSubject,
  CompactionEvent,
  ContextUse,
  StopCause,
  StopReason,
  TurnEvent,
} from "./event.js";
export { mediaOf, runTurn } from "./loop.js";
export { resolved, Transcript, type TranscriptChange } from "./transcript.js";
export { transcriptProblems } from "./transcript-check.js";
export type { Turn, TurnEnd } from "./turn.js";
export { addUsage, NO_USAGE } from "./usage.js";
