// The entry of the translator: ACP over stdio on one side, a gateway on the other.
export type { Connection, FromGateway } from "./connection.js";
export { ownServers } from "./editor-servers.js";
export { gatewayEnvironment, sessionEnvironment } from "./environment.js";
export { GatewayClient } from "./gateway-client.js";
export { localGateway } from "./local-gateway.js";
export {
  ERRORS,
  failure,
  type Outcome,
  type RpcId,
  readRpc,
  sessionIdOf,
  tenonMeta,
  withTenonMeta,
} from "./messages.js";
export { checkGatewayUrls, localLink, remoteLink, shownHosts } from "./target.js";
export { Translator, type TranslatorOptions } from "./translator.js";
