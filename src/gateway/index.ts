// The entry of the gateway: what is light is here, the server itself is loaded on first use.
import type * as run from "./run.js";
import type * as server from "./server/gateway.js";

export { AuditLog } from "./access/audit.js";
export { addressOf, type Entrance, Guard, isRefusal } from "./access/guard.js";
export { type CodeStorage, PairingCodes, readCodeState } from "./access/pairing.js";
export { SCOPES } from "./access/principal.js";
export { type KeptToken, LiveTokens, type NewToken, type TokenStorage, Tokens, tokensInFile } from "./access/tokens.js";
export { GATEWAY_LIMITS } from "./limits.js";
export type {
  AccountStore,
  GatewayStore,
  LeftSession,
  NodeFigures,
  NodeHint,
  NodeInfo,
  NodeMessage,
  Nodes,
} from "./nodes/nodes.js";
export { type NotifySettings, questionWords } from "./notify.js";
export type {
  GatewayChange,
  GatewayProtocol,
  ListedToken,
  OpenQuestion,
  PageAnswer,
  Scope,
  WireSessionState,
} from "./protocol.js";
export type { RunningGateway } from "./run.js";
export type { Gateway, GatewayAccess, GatewayServerOptions } from "./server/gateway.js";
export { answer, readBody, refuse } from "./server/http-answers.js";
export { type ListenAt, type ListeningPlace, preparePlace } from "./server/listen.js";
export type { RuntimePlace } from "./sessions/runtimes.js";
export { gatewaySocketPath, socketFolderProblem } from "./socket-path.js";

/** All of it, with `RunningGateway`: loaded on first use, since it brings `ws` and the SDK with it. */
export async function loadGateway(): Promise<typeof run> {
  return await import("./run.js");
}

/** The server, with `startGateway` and `openAccess`: loaded on first use, since it brings `ws` and the SDK with it. */
export async function loadGatewayServer(): Promise<typeof server> {
  return await import("./server/gateway.js");
}
