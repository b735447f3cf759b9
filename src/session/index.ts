// The public face of `session`.

export { BUILTIN_NAMES, type BuiltinName } from "../builtin/index.js";
export { remoteProblem } from "../config/index.js";
export type { AttachedClient, Attachment, ClientRole, JoinRequest } from "./clients/clients.js";
export type { AskedQuestion, QuestionChange } from "./clients/questions.js";
export type { PromptAbout } from "./conversation/turns.js";
export type { NoticeLevel, ServerStatus, SessionEvent, SessionInfo, SessionView } from "./events.js";
export { type LoadedSession, SessionHost, type StoredRequest } from "./host.js";
export { History } from "./journal/history.js";
export { type AppendOptions, ONLY_COMMANDS, type StoredLine } from "./journal/journal.js";
export { OpenWork } from "./journal/open-work.js";
export { type OnStored, readRecord, type StoredRecord } from "./journal/read-journal.js";
export { SESSION_LIMITS } from "./limits.js";
export type { Followed, LogItem } from "./log/session-log.js";
export { StoredLog } from "./log/stored-log.js";
export { type StoredView, storedView } from "./log/stored-view.js";
export { addressWarnings, type LoginPage, readPasted, webPage } from "./login/login-page.js";
export { loopbackWay } from "./login/loopback.js";
export type {
  GivenServers,
  NewSession,
  OutputOwner,
  OutputSink,
  RejectedServer,
  ServerOutput,
  SessionConfig,
} from "./options.js";
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
  SessionState,
  TrustRequest,
} from "./ports.js";
export { configuredServer } from "./servers/entry.js";
export { isLogInable } from "./servers/server-login.js";
export { SingleServer, type SingleServerOptions } from "./servers/servers.js";
export { type PromptResult, Session } from "./session.js";
export { isLooser, SETTINGS, type SettingName, type SettingsView } from "./settings.js";
export {
  alreadyOpen,
  cursorAfter,
  FileSessionStore,
  givenTitle,
  journalStart,
  readCursor,
  unknownSession,
} from "./store/file-store.js";
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
export type { SetToolsAnswer, SetToolsMode, SetToolsRequest } from "./tools/extra-tools.js";
export { configuredEmbedder, MeaningSearch } from "./tools/meaning.js";
export { programOf, type ToolControls } from "./tools/tools.js";
