// The public face of `tools`: one catalog per session, one outcome per call.

export type { NamedTool } from "./catalog/look-alikes.js";
export { LookAlikes } from "./catalog/look-alikes.js";
export { CALL_TOOL, SEARCH_TOOLS } from "./catalog/meta-tools.js";
export type { CatalogEntry, Offer, Offer as Catalog } from "./catalog/offer.js";
export { callArguments, snapshot } from "./catalog/offer.js";
export type { CatalogLimits, NoticeSink, Pick } from "./catalog/offered-tools.js";
export type { CatalogOptions, Selection } from "./catalog/session-catalog.js";
export { SessionCatalog } from "./catalog/session-catalog.js";
export type {
  ServerInclude,
  ShapeSettings,
  SourceSettings,
  ToolPlace,
  ToolShape,
  ToolTransformer,
} from "./catalog/shape.js";
export { whyFiltered } from "./catalog/shape.js";
export type { DenseScores, FoundTool, SearchAnswer, SearchRequest, UsagePort } from "./catalog/tool-search.js";
export type { AbsentServer, CatalogView, ViewedTool, WhyAnswer, WhyKind } from "./catalog/why.js";
export { mcpSource } from "./mcp-source.js";
export type {
  ArgumentCondition,
  HintCondition,
  PermissionMode,
  PolicyDecision,
  PolicyEffect,
  PolicyQuestion,
  PolicyRule,
} from "./policy/decide.js";
export { decide, hintsOf } from "./policy/decide.js";
export { DecisionFiles } from "./policy/decision-files.js";
export { definitionData, definitionHash } from "./policy/difference.js";
export type { LockedTools, LockHold, ToolChange, ToolsLock } from "./policy/lock.js";
export { compareTools, lockedServer, lockHold, lockText, lockTools, parseLock } from "./policy/lock.js";
export type { OwnPlace, ProtectedFile } from "./policy/protected-paths.js";
export type { Finding, PathTable, ProtectionPlace, WrittenPath } from "./policy/protection.js";
export {
  findProtected,
  NO_PATHS,
  pathsInArguments,
  pathsInCommand,
  resolvePaths,
  underProtection,
} from "./policy/protection.js";
export type {
  ApprovalAnswer,
  ApprovalStatus,
  ApprovalSubject,
  Decision,
  DecisionProblem,
  DecisionStore,
  GrantedCall,
  KeptDecision,
  LoadedDecisions,
  MigrationReport,
  OfferedGrant,
  PermissionGrant,
  ToolGrant,
} from "./policy/stored-approvals.js";
export {
  Approvals,
  coversCall,
  decisionId,
  forSession,
  grantedCall,
  grantId,
  grantLabel,
  neverLabel,
} from "./policy/stored-approvals.js";
export type { ModelMedia, ResultContext } from "./result/blocks.js";
export { hostText } from "./result/blocks.js";
export type { ModelResult, Presented } from "./result/present.js";
export { presentOutcome, toModelResult } from "./result/present.js";
export { READ_RESOURCE, ResourceSource } from "./result/read-resource.js";
export { resultTools } from "./result/read-result.js";
export type { ResultStoreOptions } from "./result/store.js";
export { ResultStore } from "./result/store.js";
export type { Inserted } from "./result/substitute.js";
export type { ResumedCall, RunOptions } from "./run/call.js";
export { resumeCall, runCall, runCalls } from "./run/call.js";
export type {
  Approval,
  ApprovalRequest,
  CallEvent,
  CallJournal,
  CallRequest,
  KeptCall,
  RunPorts,
} from "./run/ports.js";
export type { PreparedCall } from "./run/prepare.js";
export { prepareCall } from "./run/prepare.js";
export type { Embedder } from "./search/embeddings.js";
export { ToolEmbeddings } from "./search/embeddings.js";
export type { UsageMemoryPlace } from "./search/usage-memory.js";
export { UsageMemory } from "./search/usage-memory.js";
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
