// The entry of `mcp`: one server, from its spec to the results of its calls.

export { checkAgainstSchema, type SchemaFit } from "../base/schema/schema-check.js";
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
export {
  type CachedTools,
  type DiskCacheOptions,
  diskCache,
  recordedCache,
  type ServerCache,
} from "./connection/cache.js";
export { McpConnection, type ServerConnection } from "./connection/connection.js";
export type { ConnectionOptions, ServerLimits, ToolOverrides } from "./connection/options.js";
export type { ConnectionState } from "./connection/state.js";
export type { CallOptions, CallOutcome, CallProgress } from "./protocol/call.js";
export type { Link, ServerIdentity } from "./protocol/link.js";
export { type LeftOut, type Listing, shortName } from "./protocol/lists.js";
export type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "./protocol/peer.js";
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
} from "./protocol/prompts.js";
export {
  type AskOptions,
  listResources,
  listResourceTemplates,
  type McpResource,
  type McpResourceTemplate,
  readResource,
} from "./protocol/resources.js";
export type { TaskHandle } from "./protocol/task.js";
export type { McpTool, McpToolAnnotations } from "./protocol/tools.js";
export { RpcRefusal } from "./rpc/rpc.js";
export {
  type PoolRequest,
  type PoolSettings,
  ServerPool,
  type ServerPoolOptions,
  sharingKey,
} from "./sharing/server-pool.js";
export { startInTurn } from "./sharing/shareable-server.js";
export {
  type AcpSpec,
  type BearerAuth,
  type LaunchApproval,
  launchFingerprint,
  type PinnedFile,
  type RemoteSpec,
  type SandboxSpec,
  type ServerSpec,
  type StdioSpec,
} from "./spec.js";
export type { ChannelAnswer, ChannelRequest, McpChannel } from "./transport/acp.js";
export { type LaunchConcern, launchConcern, pinnedProgram } from "./transport/launchers/guarded-launch.js";
export { bubblewrap } from "./transport/sandbox/bubblewrap.js";
export { BARE_PARTS, findGitPlaces } from "./transport/sandbox/git-places.js";
export type { Agreement } from "./transport/transport.js";
