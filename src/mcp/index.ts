// The door of the MCP room: one server, from its spec to its answers.

export { checkAgainstSchema, type SchemaFit } from "../base/schema/schema-fit.js";
export { login, logout } from "./auth/index.js";
export {
  type DevicePrompt,
  type DeviceWay,
  type Grant,
  type GrantKey,
  type GrantStore,
  grantSecrets,
  type IdentityProvider,
  isForPeople,
  type LoggedIn,
  type LoggedOut,
  type LoginAttempt,
  type LoginOptions,
  type LoginStart,
  type LoginWay,
  type LogoutOptions,
  type OAuthClient,
  type OAuthOptions,
  type OAuthSettings,
  type RedirectWay,
  resourceOf,
} from "./auth/port.js";
export type { CallOptions, CallOutcome, CallProgress } from "./call/call.js";
export { McpConnection } from "./connection.js";
export type { Link } from "./era/link.js";
export { launchFingerprint } from "./fingerprint.js";
export { type DiskCacheOptions, diskCache } from "./lists/cache.js";
export type { Listing } from "./lists/list.js";
export {
  type Completion,
  type CompletionRequest,
  type CompletionTarget,
  complete,
  getPrompt,
  listPrompts,
  type McpPrompt,
  type McpPromptArgument,
  type McpPromptMessage,
  type McpPromptText,
} from "./lists/prompts.js";
export { recordedCache } from "./lists/recorded-cache.js";
export {
  type AskOptions,
  listResources,
  listResourceTemplates,
  type McpResource,
  type McpResourceTemplate,
  readResource,
} from "./lists/resources.js";
export type { McpTool, McpToolAnnotations } from "./lists/tolerate.js";
export type { CachedTools, ConnectionOptions, ServerCache, ServerLimits, ToolOverrides } from "./options.js";
export type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "./peer.js";
export type { PooledServer } from "./pool/pooled-server.js";
export type { ServerConnection } from "./pool/server-connection.js";
export { type PoolRequest, type PoolSettings, ServerPool, type ServerPoolOptions } from "./pool/server-pool.js";
export { sharingKey } from "./pool/sharing-key.js";
export { startInTurn } from "./pool/start-queue.js";
export { RpcRefusal } from "./rpc/rpc.js";
export type {
  AcpSpec,
  BearerAuth,
  LaunchApproval,
  PinnedFile,
  RemoteSpec,
  ServerSpec,
  StdioSpec,
} from "./spec.js";
export type { ConnectionState, ServerIdentity } from "./state.js";
export type { TaskHandle } from "./tasks/task.js";
export type { ChannelAnswer, ChannelRequest, McpChannel } from "./transport/acp.js";
export { type LaunchConcern, launchConcern, pinnedProgram } from "./transport/launchers/guarded-launch.js";
export { bubblewrap } from "./transport/sandbox/bubblewrap.js";
export { BARE_PARTS, findGitPlaces } from "./transport/sandbox/git-places.js";
export type { SandboxSpec } from "./transport/sandbox/sandbox-spec.js";
export type { Agreement } from "./transport/transport.js";
