// The door of the tools room: one catalog per session, one outcome per call.

export { LookAlikes, type NamedTool } from "./catalog/look-alikes.js";
export type { NoticeSink } from "./catalog/notices.js";
export { type CatalogEntry, callArguments, type Offer, type Offer as Catalog, snapshot } from "./catalog/offer.js";
export type { CatalogLimits } from "./catalog/offering.js";
export { CALL_TOOL, SEARCH_TOOLS } from "./catalog/search-tools.js";
export { type CatalogOptions, type Selection, SessionCatalog } from "./catalog/session-catalog.js";
export type {
  ServerInclude,
  ShapeSettings,
  SourceSettings,
  ToolPlace,
  ToolShape,
  ToolTransformer,
} from "./catalog/shape.js";
export { whyFiltered } from "./catalog/shape.js";
export type { DenseScores, SearchAnswer, SearchRequest, UsagePort } from "./catalog/tool-search.js";
export type { AbsentServer, CatalogView, FoundTool, Pick, ViewedTool, WhyAnswer, WhyKind } from "./catalog/why.js";
export { mcpSource } from "./mcp-source.js";
export { type ApprovalAnswer, Approvals, type Standing } from "./policy/approvals.js";
export { decide, type PolicyDecision, type PolicyQuestion } from "./policy/decide.js";
export { DecisionFiles } from "./policy/decision-files.js";
export { definitionData, definitionHash } from "./policy/difference.js";
export {
  type ApprovalSubject,
  coversCall,
  type Decision,
  type DecisionProblem,
  type DecisionStore,
  decisionId,
  forSession,
  type GrantedCall,
  grantedCall,
  grantId,
  grantLabel,
  type KeptDecision,
  type LoadedDecisions,
  type MigrationReport,
  neverLabel,
  type OfferedGrant,
  type PermissionGrant,
  type ToolGrant,
} from "./policy/grant.js";
export {
  compareTools,
  type LockedTools,
  type LockHold,
  lockedServer,
  lockHold,
  lockText,
  lockTools,
  parseLock,
  type ToolChange,
  type ToolsLock,
} from "./policy/lock.js";
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
export { hintsOf } from "./policy/rule.js";
export type { ModelMedia } from "./result/blocks.js";
export { hostText } from "./result/blocks.js";
export {
  type ModelResult,
  type Presented,
  presentOutcome,
  type ResultContext,
  toModelResult,
} from "./result/present.js";
export { READ_RESOURCE, ResourceSource } from "./result/read-resource.js";
export { resultTools } from "./result/read-result.js";
export { ResultStore, type ResultStoreOptions } from "./result/store.js";
export type { Inserted } from "./result/substitute.js";
export { runCalls } from "./run/batch.js";
export { type ResumedCall, type RunOptions, resumeCall, runCall } from "./run/call.js";
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
export { type Embedder, ToolEmbeddings } from "./search/embeddings.js";
export { UsageMemory, type UsageMemoryPlace } from "./search/usage-memory.js";
export type {
  CatalogTool,
  IncludeMode,
  LastingCall,
  SourceAbout,
  SourceCall,
  SourcedTool,
  SourceState,
  ToolAnnotations,
  ToolAnswer,
  ToolCall,
  ToolDefinition,
  ToolId,
  ToolOrigin,
  ToolOutcome,
  ToolProgress,
  ToolSource,
} from "./tool.js";
