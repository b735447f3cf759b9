// The public face of `tools`: one catalog per session, one outcome per call.

export { LookAlikes, type NamedTool } from "./catalog/look-alikes.js";
export { CALL_TOOL, SEARCH_TOOLS } from "./catalog/meta-tools.js";
export { type CatalogEntry, callArguments, type Offer, type Offer as Catalog, snapshot } from "./catalog/offer.js";
export { type CatalogLimits, type NoticeSink, type Pick, WAIT_FOR_SERVER } from "./catalog/offered-tools.js";
export {
  type CatalogOptions,
  type DenseScores,
  type FoundTool,
  type SearchAnswer,
  type SearchRequest,
  type Selection,
  SessionCatalog,
  type StartingServer,
  type UsagePort,
} from "./catalog/session-catalog.js";
export {
  type ServerInclude,
  type ShapeSettings,
  type SourceSettings,
  type ToolPlace,
  type ToolShape,
  type ToolTransformer,
  usedTools,
  whyFiltered,
} from "./catalog/shape.js";
export type { AbsentServer, CatalogView, ExplainedTool, ViewedTool, WhyAnswer, WhyKind } from "./catalog/why.js";
export { mcpSource } from "./mcp-source.js";
export { mcpToolId } from "./names.js";
export {
  type ArgumentCondition,
  decide,
  type HintCondition,
  hintsOf,
  type PermissionMode,
  type PolicyDecision,
  type PolicyEffect,
  type PolicyQuestion,
  type PolicyRule,
} from "./policy/decide.js";
export { DecisionFiles, decisionText, readDecision } from "./policy/decision-files.js";
export {
  compareTools,
  definitionData,
  definitionHash,
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
export type { OwnPlace, ProtectedFile } from "./policy/protected-paths.js";
export {
  type Finding,
  findProtected,
  NO_PATHS,
  type PathTable,
  type ProtectionPlace,
  pathsInArguments,
  pathsInCommand,
  resolvePaths,
  underProtection,
  type WrittenPath,
} from "./policy/protection.js";
export {
  type ApprovalAnswer,
  type ApprovalStatus,
  type ApprovalSubject,
  Approvals,
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
  resourcesOf,
  type ToolGrant,
} from "./policy/stored-approvals.js";
export { hostText, type ModelMedia, type ResultContext } from "./result/blocks.js";
export {
  type ModelResult,
  nothingOf,
  type Presented,
  presentOutcome,
  recalledResult,
  toModelResult,
} from "./result/present.js";
export { READ_RESOURCE, ResourceSource } from "./result/read-resource.js";
export { resultTools } from "./result/read-result.js";
export { type ByteRange, type KeptResults, ResultStore, type ResultStoreOptions } from "./result/store.js";
export type { Inserted } from "./result/substitute.js";
export {
  type Approval,
  type ApprovalRequest,
  type CallEvent,
  type CallJournal,
  type CallRequest,
  type KeptCall,
  type ResumedCall,
  type RunOptions,
  type RunPorts,
  resumeCall,
  runCall,
  runCalls,
} from "./run/call.js";
export { type PreparedCall, prepareCall, prepareSent, type SentBefore } from "./run/prepare.js";
export { type Closeness, type Embedder, ToolEmbeddings } from "./search/embeddings.js";
export { UsageMemory, type UsageMemoryPlace } from "./search/usage-memory.js";
export {
  type CatalogTool,
  failed,
  type IncludeMode,
  type LastingCall,
  type SourceAbout,
  type SourceCall,
  type SourcedTool,
  type SourceState,
  type ToolAnnotations,
  type ToolAnswer,
  type ToolCall,
  type ToolDefinition,
  type ToolId,
  type ToolOrigin,
  type ToolOutcome,
  type ToolProgress,
  type ToolSource,
} from "./tool.js";
