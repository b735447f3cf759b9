// The public face of `session`.

export { BUILTIN_NAMES, type BuiltinName } from "../builtin/index.js";
export { remoteProblem } from "../config/index.js";
export type { Attachment, ClientRole, JoinRequest } from "./clients/clients.js";
export type { AskedQuestion } from "./clients/questions.js";
export { SessionConfiguration } from "./configuration.js";

export { createHost, type HostOptions } from "./create-host.js";
export type { NoticeLevel, PromptResult, ServerStatus, SessionEvent, SessionInfo, SessionView } from "./events.js";
export { type LoadedSession, SessionHost, type StoredRequest } from "./host.js";
export { History } from "./journal/history.js";
export { type AppendOptions, ONLY_COMMANDS, type StoredLine } from "./journal/journal.js";
export { OpenWork } from "./journal/open-work.js";
export { type OnStored, readRecord, type StoredRecord } from "./journal/read-journal.js";
export { SESSION_LIMITS } from "./limits.js";
export { SHOWN_BY } from "./log/record-events.js";
export type { Followed, LogItem } from "./log/session-log.js";
export { StoredLog } from "./log/stored-log.js";
export { type StoredView, storedView } from "./log/stored-view.js";
export { addressWarnings, type LoginPage, readPasted, webPage } from "./login/login-page.js";
export { loopbackWay } from "./login/loopback.js";
export { SessionLogins } from "./login/session-logins.js";
export type {
  GivenServers,
  NewSession,
  OutputOwner,
  OutputSink,
  RejectedServer,
  ServerOutput,
  SessionConfig,
} from "./options.js";
export { argumentLines, cutWords, questionNotes } from "./permission/question-text.js";
export type {
  AskedAs,
  ClientName,
  ElicitQuestion,
  ExtraAnswer,
  ExtraCall,
  PermissionAnswer,
  PermissionChoice,
  PermissionQuestion,
  SamplingAnswer,
  SamplingRequest,
  SenderRights,
  SessionPorts,
  TrustRequest,
} from "./ports.js";
export { configuredServer, configuredServers, type OpenServer } from "./servers/entry.js";
export { isLogInable, loginCommand } from "./servers/server-login.js";
export {
  SessionServers,
  type SessionServersOptions,
  SingleServer,
  type SingleServerOptions,
} from "./servers/servers.js";
export { Session } from "./session.js";
export { isLooser, SETTINGS, type SettingsView } from "./settings.js";
export {
  alreadyOpen,
  cursorAfter,
  FileSessionStore,
  givenTitle,
  journalStart,
  readCursor,
  unknownSession,
} from "./store/file-store.js";
export { LineSessionStore, type LineStore } from "./store/line-store.js";
export type {
  AcquiredSession,
  ListRequest,
  OwnedSession,
  SessionAbout,
  SessionContent,
  SessionPage,
  SessionPlace,
  SessionStore,
  SessionSummary,
  UnfinishedSession,
} from "./store/session-store.js";
export type { DirectTools } from "./tools/direct.js";
export type { SetToolsAnswer, SetToolsMode, SetToolsRequest } from "./tools/extra-tools.js";
export { configuredEmbedder, MeaningSearch } from "./tools/meaning.js";
export { type ProgramResult, programOf } from "./tools/tools.js";
