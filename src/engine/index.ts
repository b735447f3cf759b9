// The door of the engine room: the loop, its transcript and its events.
export type { StopReason, TurnEvent } from "./event.js";
export { runTurn, type TurnEnd } from "./loop.js";
export { Transcript } from "./transcript.js";
