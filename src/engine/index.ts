// The door of the engine room: the loop, its transcript and its events.

export { compactBetweenTurns } from "./compact.js";
export { mediaOf, runTurn } from "./loop.js";
export { TokenMeter, toolTokens } from "./meter.js";
export { resolved, Transcript, type TranscriptChange, transcriptProblems } from "./transcript.js";
export type {
  CallSubject,
  CompactionEvent,
  ContextUse,
  StopCause,
  StopReason,
  Turn,
  TurnEnd,
  TurnEvent,
} from "./turn.js";
export { addUsage, NO_USAGE } from "./turn.js";
