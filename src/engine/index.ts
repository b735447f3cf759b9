// The door of the engine room: the loop, its transcript and its events.

export { compactBetweenTurns } from "./compact.js";
export { mediaOf, noteEnding, runAnswer, runTurn } from "./loop.js";
export { resolved, Transcript, type TranscriptChange, transcriptProblems } from "./transcript.js";
export type {
  BegunCall,
  BegunTurn,
  CallSubject,
  CompactionEvent,
  StopCause,
  StopReason,
  Turn,
  TurnEnd,
  TurnEvent,
  WholeAnswer,
} from "./turn.js";
export { addUsage, NO_USAGE, TokenMeter, toolTokens } from "./turn.js";
