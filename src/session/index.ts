// The door of the session room.
export { BUILTIN_NAMES, type BuiltinName } from "../builtin/index.js";
export type { CommandInfo, ServerStatus, SessionEvent } from "./event.js";
export { type ListRequest, listSessions, type SessionPage, type SessionSummary } from "./history/listing.js";
export { StoredSessions } from "./history/stored-sessions.js";
export { type LoadedSession, type NewSession, SessionHost, type StoredRequest } from "./host.js";
export { journalStart } from "./journal-start.js";
export { addressWarnings, webPage } from "./login/address.js";
export { type LoginPage, loopbackWay } from "./login/loopback.js";
export { readPasted } from "./login/pasted.js";
export { isLogInable } from "./login/server-login.js";
export { LoneServer, type LoneServerOptions } from "./lone-server.js";
export type { SessionConfig } from "./options.js";
export type {
  ElicitQuestion,
  PermissionAnswer,
  PermissionChoice,
  PermissionQuestion,
  SamplingAnswer,
  SamplingRequest,
  SessionPorts,
  TrustAnswer,
  TrustRequest,
} from "./ports.js";
export type { RejectedServer } from "./server-entry.js";
export type { OutputOwner, OutputSink, ServerOutput } from "./server-output.js";
export type { GivenServers } from "./server-set.js";
export { type PromptResult, Session } from "./session.js";
export { SETTINGS, type SettingName, type SettingsView } from "./settings.js";
export { programOf } from "./tools/followed-servers.js";
export type { ToolControls } from "./tools/tool-controls.js";
