// The entry of `mcp`: one server, from its spec to the results of its calls.

export { checkAgainstSchema } from "../base/schema/schema-check.js";
export { login, logout } from "./auth/index.js";
export { MemoryGrants } from "./auth/memory-grants.js";
export type {
  DevicePrompt,
  DeviceWay,
  Grant,
  GrantKey,
  GrantStore,
  IdentityProvider,
  LoggedIn,
  LoginAttempt,
  LoginOptions,
  LoginStart,
  LoginWay,
  OAuthClient,
  OAuthOptions,
  OAuthSettings,
  RedirectWay,
} from "./auth/port.js";
export { grantSecrets, isForPeople, resourceOf } from "./auth/port.js";
export type { KnownStart, ServerCache } from "./connection/cache.js";
export { diskCache, memoryCache, recordedCache } from "./connection/cache.js";
export { CallGate } from "./connection/call-gate.js";
export { McpConnection, type ServerConnection } from "./connection/connection.js";
export type { ConnectionOptions, ServerLimits, ToolOverrides } from "./connection/options.js";
export type { ConnectionState } from "./connection/state.js";
export { answerOf, type CallOptions, type CallOutcome, ProgressPace } from "./protocol/call.js";
export type { Link, ServerIdentity } from "./protocol/link.js";
export { shortName } from "./protocol/lists.js";
export type { ElicitAnswer, ElicitRequest, Peer, Root, ServerLog } from "./protocol/peer.js";
export type {
  McpPrompt,
  McpPromptArgument,
  McpPromptMessage,
  McpResource,
  McpResourceTemplate,
} from "./protocol/prompts-and-resources.js";
export {
  complete,
  getPrompt,
  listPrompts,
  listResources,
  listResourceTemplates,
  readResource,
} from "./protocol/prompts-and-resources.js";

export { type McpTool, readSingleTool } from "./protocol/tools.js";
export { HeldCalls, type ProvidedAnswer, ProvidedCall, refusal } from "./provide/held-calls.js";
export { type ProvidedRequest, ServerProvider } from "./provide/provider.js";
export { Subscriptions } from "./provide/subscriptions.js";
export { isErrorBody, toElicitAnswer, toResource, toWire } from "./provide/wire-content.js";
export { RpcRefusal } from "./rpc/rpc.js";
export type { PoolSettings } from "./sharing/server-pool.js";
export { ServerPool, sharingKey } from "./sharing/server-pool.js";
export { startInTurn } from "./sharing/shareable-server.js";
export type {
  BearerAuth,
  PinnedFile,
  RemoteSpec,
  SandboxSpec,
  ServerSpec,
  StdioSpec,
} from "./spec.js";
export { foreignOwner, launchFingerprint, PACKAGE_FETCH, startText } from "./spec.js";
export type { ChannelAnswer, ChannelRequest, McpChannel } from "./transport/acp.js";
export { type LaunchConcern, launchConcern, pinnedProgram } from "./transport/launchers/guarded-launch.js";
export { bubblewrap } from "./transport/sandbox/bubblewrap.js";
export { BARE_PARTS, findGitPlaces } from "./transport/sandbox/git-places.js";
export type { RpcErrorBody } from "./transport/transport.js";
export { LEGACY_VERSIONS, META, MODERN_VERSION } from "./versions.js";
