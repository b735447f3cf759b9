// The entry of the gateway: what is light is here, the server itself is loaded on first use.
import type * as run from "./run.js";
import type * as server from "./server/gateway.js";

export { type AuditEvent, AuditLog } from "./access/audit.js";
export { allowedDirectory, type ClientKeys, LOCAL_PRINCIPAL, type Principal, SCOPES } from "./access/principal.js";
export { type NewToken, TokenFile } from "./access/tokens.js";
export { GATEWAY_LIMITS } from "./limits.js";
export type {
  AttachedClient,
  ClientRole,
  GatewayCapability,
  GatewayChange,
  GatewayMethod,
  GatewayNotifications,
  GatewayProtocol,
  GatewayRequests,
  GatewayStatus,
  InitializeAnswerMeta,
  InitializeMeta,
  JoinAnswerMeta,
  JoinSessionMeta,
  ListedSessionMeta,
  ListedToken,
  NewSessionMeta,
  OpenQuestion,
  PromptAnswerMeta,
  PromptMeta,
  QuestionKind,
  QuestionMeta,
  Scope,
  SessionInfoMeta,
  SessionView,
  TokensAnswer,
  TokensRequest,
  UpdateMeta,
  WireClient,
  WireSessionState,
} from "./protocol.js";
export type { RunGatewayOptions, RunningGateway } from "./run.js";
export type { ClientStream, ConnectionAbout } from "./server/client-stream.js";
export type { Gateway, GatewayAccess, GatewayServerOptions } from "./server/gateway.js";
export type { ListenAt } from "./server/listen.js";
export type { GatewayFigures } from "./server/metrics.js";
export type { OpenRuntime, RuntimePlace } from "./sessions/runtimes.js";
export { gatewaySocketPath, socketFolderProblem } from "./socket-path.js";

/** All of it, with `RunningGateway`: loaded on first use, since it brings `ws` and the SDK with it. */
export async function loadGateway(): Promise<typeof run> {
  return await import("./run.js");
}

/** The server, with `startGateway` and `openAccess`: loaded on first use, since it brings `ws` and the SDK with it. */
export async function loadGatewayServer(): Promise<typeof server> {
  return await import("./server/gateway.js");
}
