// The door of the session room.
export { BUILTIN_NAMES, type BuiltinName } from "../builtin/index.js";
export type { CommandInfo, ServerStatus, SessionEvent } from "./event.js";
export type { ListRequest, SessionPage, SessionSummary } from "./history/listing.js";
export { type LoadedSession, type NewSession, SessionHost, type StoredRequest } from "./host.js";
export { journalStart } from "./journal-start.js";
export type { SessionConfig } from "./options.js";
export type {
  ElicitQuestion,
  PermissionAnswer,
  PermissionQuestion,
  SamplingAnswer,
  SamplingRequest,
  SessionPorts,
  TrustAnswer,
  TrustRequest,
} from "./ports.js";
export type { GivenServers } from "./server-set.js";
export type { RejectedServer } from "./servers.js";
export { type PromptResult, Session } from "./session.js";
export type { ToolControls } from "./session-tools.js";
export { SETTINGS, type SettingName, type SettingsView } from "./settings.js";
