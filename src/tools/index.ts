// The door of the tools room: one catalog per session, one outcome per call.
export type { DenseScores, UsagePort } from "./catalog/finder.js";
export type { CatalogView, ViewedTool } from "./catalog/inspect.js";
export { LookAlikes, type NamedTool } from "./catalog/look-alikes.js";
export type { NoticeSink } from "./catalog/notices.js";
export { type CatalogEntry, callArguments, type Offer, type Offer as Catalog } from "./catalog/offer.js";
export type { CatalogLimits } from "./catalog/plan.js";
export { type CatalogOptions, type Selection, SessionCatalog } from "./catalog/session-catalog.js";
export { snapshot } from "./catalog/snapshot.js";
export type { AbsentServer, FoundTool, Pick } from "./catalog/state.js";
export type { SearchAnswer, SearchRequest } from "./catalog/tool-search.js";
export type { WhyAnswer, WhyKind } from "./catalog/why-answer.js";
export { compareTools, type LockHold, lockHold, type ToolChange } from "./lock/lock-check.js";
export { type LockedTools, lockedServer, lockText, lockTools, parseLock, type ToolsLock } from "./lock/tools-lock.js";
export { mcpSource } from "./mcp-source.js";
export { READ_RESOURCE, ResourceSource } from "./meta/read-resource.js";
export { resultTools } from "./meta/read-result.js";
export { CALL_TOOL, SEARCH_TOOLS } from "./meta/search-tools.js";
export { type ApprovalAnswer, Approvals, type Standing } from "./policy/approvals.js";
export { decide, type PolicyDecision, type PolicyQuestion } from "./policy/decide.js";
export {
  type Decision,
  type DecisionProblem,
  type DecisionStore,
  decisionId,
  type KeptDecision,
  type LoadedDecisions,
  type MigrationReport,
} from "./policy/decision.js";
export { DecisionFiles } from "./policy/decision-files.js";
export { definitionData, definitionHash } from "./policy/difference.js";
export {
  type ApprovalSubject,
  coversCall,
  forSession,
  type GrantedCall,
  grantedCall,
  grantId,
  grantLabel,
  neverLabel,
  type OfferedGrant,
  type PermissionGrant,
  type ToolGrant,
} from "./policy/grant.js";
export { hintsOf } from "./policy/hints.js";
export { NO_PATHS, type PathTable, resolvePaths } from "./policy/paths.js";
export type { OwnPlace, ProtectedFile } from "./policy/protected-paths.js";
export {
  type Finding,
  findProtected,
  type ProtectionPlace,
  pathsInArguments,
  pathsInCommand,
  underProtection,
  type WrittenPath,
} from "./policy/protection.js";
export type {
  ArgumentCondition,
  HintCondition,
  PermissionMode,
  PolicyEffect,
  PolicyRule,
} from "./policy/rule.js";
export { hostText } from "./result/host-text.js";
export type { ModelMedia } from "./result/media.js";
export {
  type ModelResult,
  type Presented,
  presentOutcome,
  type ResultContext,
  toModelResult,
} from "./result/present.js";
export { ResultStore, type ResultStoreOptions } from "./result/store.js";
export type { Inserted } from "./result/substitute.js";
export { runCalls } from "./run/batch.js";
export { type RunOptions, runCall } from "./run/call.js";
export type {
  Approval,
  ApprovalRequest,
  CallEvent,
  CallJournal,
  CallRequest,
  KeptCall,
  RunPorts,
} from "./run/ports.js";
export { type PreparedCall, prepareCall } from "./run/prepare.js";
export { type ResumedCall, resumeCall } from "./run/resume.js";
export { type Embedder, ToolEmbeddings } from "./search/embeddings.js";
export { UsageMemory, type UsageMemoryPlace } from "./search/usage-memory.js";
export type {
  ServerInclude,
  ShapeSettings,
  SourceSettings,
  ToolPlace,
  ToolShape,
  ToolTransformer,
} from "./shape/settings.js";
export { whyFiltered } from "./shape/shape.js";
export type { LastingCall, SourceAbout, SourceCall, SourceState, ToolSource } from "./source.js";
export type {
  CatalogTool,
  IncludeMode,
  SourcedTool,
  ToolAnnotations,
  ToolAnswer,
  ToolCall,
  ToolDefinition,
  ToolId,
  ToolOrigin,
  ToolOutcome,
  ToolProgress,
} from "./tool.js";
