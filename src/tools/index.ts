// The public face of `tools`: one catalog per session, one outcome per call.

export { LookAlikes, type NamedTool } from "./catalog/look-alikes.js";
export { CALL_TOOL, SEARCH_TOOLS, searchMetaSource } from "./catalog/meta-tools.js";
export {
  type CatalogEntry,
  callArguments,
  type Offer,
  snapshot,
} from "./catalog/offer.js";
export { type CatalogLimits, WAIT_FOR_SERVER } from "./catalog/offered-tools.js";
export {
  type FindTools,
  type SearchAnswer,
  type SearchRequest,
  type Selection,
  SessionCatalog,
  type StartingServer,
} from "./catalog/session-catalog.js";
export {
  definitionProblem,
  type ServerInclude,
  type SourceSettings,
  shapedSchema,
  shaper,
  type ToolPlace,
  type ToolShape,
  type ToolTransformer,
  usedTools,
  whyFiltered,
} from "./catalog/shape.js";
export type { AbsentServer, CatalogView, ExplainedTool, ViewedTool, WhyAnswer } from "./catalog/why.js";
export { type CallFollower, mcpSource } from "./mcp-source.js";
export { mcpToolId, slug } from "./names.js";
export {
  type ArgumentCondition,
  decide,
  type HintCondition,
  hintsOf,
  type PermissionMode,
  type PolicyDecision,
  type PolicyEffect,
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
export type { OwnPlace } from "./policy/protected-paths.js";
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
  type ApprovalSubject,
  Approvals,
  approvalKey,
  type Decision,
  type DecisionStore,
  decisionId,
  forSession,
  type GrantedCall,
  type GrantFacts,
  grantedCall,
  grantId,
  grantLabel,
  type KeptDecision,
  type LoadedDecisions,
  type MigrationReport,
  neverLabel,
  type OfferedGrant,
  resourcesOf,
  type ToolGrant,
} from "./policy/stored-approvals.js";
export { type ModelMedia } from "./result/blocks.js";
export {
  type ModelResult,
  nothingOf,
  type Presented,
  presentOutcome,
  recalledResult,
} from "./result/present.js";
export { ResourceSource } from "./result/read-resource.js";
export { resultTools } from "./result/read-result.js";
export { type ByteRange, type KeptResults, ResultStore } from "./result/store.js";
export { runCalls } from "./run/batch.js";
export {
  type Approval,
  type ApprovalRequest,
  type CallEvent,
  type KeptCall,
  type RunPorts,
  resumeCall,
  runCall,
  runCallAnd,
  runDirect,
} from "./run/call.js";
export {
  asArguments,
  notMade,
  type PreparedCall,
  prepareCall,
  prepareSent,
  readArguments,
  type SentBefore,
  type WantedCall,
} from "./run/prepare.js";
export { type Closeness, type Embedder, ToolEmbeddings } from "./search/embeddings.js";
export { UsageMemory } from "./search/usage-memory.js";
export {
  type CatalogTool,
  failed,
  type IncludeMode,
  type LastingCall,
  type SourceCall,
  type SourcedTool,
  type SourceState,
  type ToolAnnotations,
  type ToolAnswer,
  type ToolDefinition,
  type ToolOrigin,
  type ToolOutcome,
  type ToolProgress,
  type ToolSource,
} from "./tool.js";
