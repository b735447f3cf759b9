// The door of the session room.
export type { ServerStatus, SessionEvent } from "./event.js";
export { type NewSession, SessionHost } from "./host.js";
export type { PermissionAnswer, PermissionQuestion, SessionPorts, TrustAnswer, TrustRequest } from "./ports.js";
export type { RejectedServer } from "./servers.js";
export { type PromptResult, Session, type SessionConfig } from "./session.js";
