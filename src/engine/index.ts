// The door of the engine room: the loop, its transcript and its events.
export type { ToolPorts } from "./calls.js";
export type { CallSubject, StopReason, TurnEvent } from "./event.js";
export { runTurn, type Turn, type TurnEnd } from "./loop.js";
export { Transcript } from "./transcript.js";
